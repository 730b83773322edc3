import HeraldTestSupport
import Testing

/// `Tests/AddressLab` in a network of its own, where every address is this machine and nothing leaves it.
@Suite("Addresses that callbacks may reach", .serialized, .timeLimit(.minutes(20)))
struct AddressLabTests {
    @Test(
        "no blocked network is reached in any notation or by any name; neighbouring addresses are",
        .enabled("no network namespace can be made here: the guard's unit tests are what is left") {
            try await ChildProcess.run("unshare", namespace + ["ip", "link", "set", "lo", "up"]).end == .exited(0)
        })
    func lab() async throws {
        let result = try await ChildProcess.run(
            "unshare", namespace + ["python3", Self.program, try Binary.path()])
        #expect(result.end == .exited(0), "\(result.text)")
    }

    @Test(
        "silent, lossy, failing and long names delay no others; files and a changed resolv.conf are read",
        .enabled("no network namespace can be made here: the resolver's unit tests are what is left") {
            try await ChildProcess.run("unshare", namespace + ["ip", "link", "set", "lo", "up"]).end == .exited(0)
        })
    func names() async throws {
        let result = try await ChildProcess.run(
            "unshare", namespace + ["python3", Self.folder + "names.py", try Binary.path()])
        #expect(result.end == .exited(0), "\(result.text)")
    }

    private static let folder =
        #filePath.split(separator: "/").dropLast(2).reduce("/") { $0 + $1 + "/" } + "AddressLab/"
    private static let program = folder + "lab.py"
}

private let namespace = ["--net", "--mount", "--map-root-user"]
