import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("herald doctor finds a database with which a server does not start", .timeLimit(.minutes(20)))
struct DoctorDatabaseTests {
    private let folder = TemporaryFolder()
    private static let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let otherKey = "Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA="
    private var data: String { folder.path + "/data" }

    private func server(_ store: [String], _ environment: [String: String]) async throws -> HeraldProcess {
        try await HeraldProcess.start(
            command: ["serve", "--listen", "127.0.0.1:0", "--log-format", "json"] + store, environment: environment,
            folder: folder)
    }

    /// Expects that a master key is missed, and that the right one is enough.
    private func expectSealed(_ store: [String], location: SourceLocation = #_sourceLocation) async throws {
        let arguments = ["--listen", "127.0.0.1:0"] + store
        let wrong: [[String: String]] = [[:], ["HERALD_MASTER_KEY": Self.otherKey]]
        for environment in wrong {
            let found = try await Findings(arguments, environment)
            #expect(found.state(of: "database") == "failure", sourceLocation: location)
            #expect(found.advice(on: "database").contains("HERALD_MASTER_KEY"), sourceLocation: location)
        }
        let right = try await Findings(arguments, ["HERALD_MASTER_KEY": Self.key])
        #expect(right.state(of: "database") == "ok", "\(right.text(of: "database"))", sourceLocation: location)
    }

    @Test("the master key of a data folder is missing, or another one, also beside the server")
    func sealedFolder() async throws {
        let store = ["--data", data]
        let herald = try await server(store, ["HERALD_MASTER_KEY": Self.key])
        try await expectSealed(store)
        try await herald.stop()
        try await expectSealed(store)
    }

    @Test("the master key of a database is missing, or another one")
    func sealedDatabase() async throws {
        let postgres = try PostgresServer.shared()
        let url = try postgres.makeDatabase()
        defer { postgres.drop(url) }
        let herald = try await server(["--store", url], ["HERALD_MASTER_KEY": Self.key])
        try await herald.stop()
        try await expectSealed(["--store", url])
    }

    @Test("the database of a data folder is damaged")
    func damaged() async throws {
        let store = ["--data", data]
        try await server(store, [:]).stop()
        let whole = try Files.read(data + "/herald.db")
        try Files.write(Array(repeating: 7, count: 5000), to: data + "/herald.db")
        let found = try await Findings(["--listen", "127.0.0.1:0"] + store)
        #expect(found.state(of: "database") == "failure")
        #expect(found.advice(on: "database") == "herald check \(data)")
        try Files.write(whole, to: data + "/herald.db")
        #expect(try await Findings(["--listen", "127.0.0.1:0"] + store).state(of: "database") == "ok")
    }

    @Test("a database without a key does not serve other machines, unless the server can show one")
    func withoutKey() async throws {
        let postgres = try PostgresServer.shared()
        let url = try postgres.makeDatabase()
        defer { postgres.drop(url) }
        let found = try await Findings(["--listen", "0.0.0.0:0", "--store", url])
        #expect(found.state(of: "keys") == "failure")
        #expect(found.advice(on: "keys").contains("HERALD_ADMIN_KEY"))
        let herald = try await server(["--store", url], [:])
        _ = try await herald.makeKey("admin")
        let right = try await Findings(["--listen", "0.0.0.0:0", "--store", url])
        #expect(right.state(of: "keys") == "ok", "\(right.text(of: "keys"))")
    }

    @Test("after the first key, callbacks do not reach a receiver on this machine")
    func receiver() async throws {
        let receiver = try Receiver()
        let arguments = ["--listen", "127.0.0.1:0", "--data", data, "--url", receiver.url()]
        #expect(try await Findings(arguments).state(of: "guard") == "ok")
        let herald = try await server(["--data", data], [:])
        _ = try await herald.makeKey("admin")
        try await herald.stop()
        let found = try await Findings(arguments)
        #expect(found.state(of: "guard") == "failure")
        #expect(found.advice(on: "guard").contains("--allow-networks"))
    }

    @Test("the keys in the database have expired, or may not make others")
    func keys() {
        func key(_ scope: Scope, expiresAt: Int64?) -> APIKey {
            APIKey(id: "key_1", name: "One", scopes: [scope], digest: [], createdAt: 0, expiresAt: expiresAt)
        }
        func state(_ keys: [APIKey]) -> Finding.State? {
            var doctor = Doctor(Settings())
            doctor.keys = keys
            doctor.checkKeys()
            return doctor.report.findings.first?.state
        }
        #expect(state([key(.admin, expiresAt: 1)]) == .failure)
        #expect(state([key(.admin, expiresAt: 1), key(.publish, expiresAt: nil)]) == .warning)
        #expect(state([key(.admin, expiresAt: nil)]) == .ok)
    }
}
