import HeraldRuntime
import HeraldWebhooks
import Testing

@testable import HeraldCLI

@Suite("Herald's own address")
struct OwnAddressTests {
    @Test(
        "callbacks never reach the address that Herald listens on, whatever form or name of it is given",
        arguments: ["127.0.0.1", "127.1", "localhost", "0.0.0.0"])
    func refused(host: String) throws {
        let settings = try Settings(
            arguments: ["--listen", "\(host):8080", "--allow-networks", "127.0.0.0/8,::1/128"], environment: [:])
        let guardian = Server.addressGuard(settings, port: 8080) { true }
        let own = ["127.0.0.1", "::1"].compactMap { IPAddress($0) }
            .filter { guardian.authorize(address: $0, port: 8080) == .refused(rule: "Herald's own address") }
        #expect(!own.isEmpty)
        #expect(own.allSatisfy { guardian.authorize(address: $0, port: 8081) == .allowed })
    }
}
