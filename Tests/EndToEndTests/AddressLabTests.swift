import HeraldTestSupport
import Testing

/// `Tests/AddressLab` in a network of its own, where every address is this machine and nothing leaves it.
@Suite("Addresses that callbacks may reach", .serialized, .timeLimit(.minutes(5)))
struct AddressLabTests {
    @Test(
        "no blocked network is reached in any notation or by any name; neighbouring addresses are",
        .enabled("no network namespace can be made here: the guard's unit tests are what is left") {
            try await ChildProcess.run("unshare", namespace + ["ip", "link", "set", "lo", "up"]).end == .exited(0)
        })
    func lab() async throws {
        let result = try await ChildProcess.run(
            "unshare", namespace + ["python3", Self.program, try Binary.path()], within: 240)
        #expect(result.end == .exited(0), "\(result.text)")
    }

    private static let program =
        #filePath.split(separator: "/").dropLast(2).reduce("/") { $0 + $1 + "/" } + "AddressLab/lab.py"
}

private let namespace = ["--net", "--mount", "--map-root-user"]
