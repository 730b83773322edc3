import Glibc
import HeraldTestSupport
import Testing

/// Databases that can't serve: one clear line, and a code that says where to look.
@Suite("A database that can't serve", .timeLimit(.minutes(20)))
struct SurroundingTests {
    /// - Returns: what the server says before it ends.
    private func refusal(
        _ url: String, _ code: Int32, environment: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let (end, text) = try await Binary.run(
            ["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", url], environment: environment)
        #expect(end == .exited(code), "\(text)", sourceLocation: sourceLocation)
        #expect(text.split(separator: "\n").count == 1, "\(text)", sourceLocation: sourceLocation)
        return text
    }

    /// The address of a database, as a role that may do nothing.
    private func guest(_ url: String, _ server: PostgresServer) throws -> String {
        let name = try "guest_" + server.sql("SELECT current_database()", url)
        try server.sql("CREATE ROLE \(name) LOGIN", url)
        return url.replacing("herald@", with: "\(name)@")
    }

    @Test("an encoding, missing rights, and locks that are none are refused with 73")
    func unsuitable() async throws {
        let server = try PostgresServer.shared()
        let ascii = try server.makeDatabase(["-E", "SQL_ASCII", "-T", "template0"])
        #expect(try await refusal(ascii, 73).contains("it has to be created with the encoding UTF8"))
        let foreign = try server.makeDatabase()
        #expect(try await refusal(guest(foreign, server), 73).contains("permission denied for database"))
        let made = try server.makeDatabase()
        let herald = try await HeraldProcess.start(command: [
            "serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", made,
        ])
        #expect(try await herald.stop() == .exited(0))
        #expect(try await refusal(guest(made, server), 73).contains("permission denied for"))
        // As CockroachDB had it: everybody gets every lock.
        let unlocked = try server.makeDatabase()
        try server.sql(
            """
            CREATE OR REPLACE FUNCTION pg_catalog.pg_try_advisory_lock(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT true'
            """, unlocked)
        #expect(try await refusal(unlocked, 73).contains("gives a lock to two sessions at once"))
        for url in [ascii, foreign, made, unlocked] { server.drop(url) }
    }

    @Test("a newer schema and another master key are refused with 65, and nothing is changed")
    func data() async throws {
        let server = try PostgresServer.shared()
        let url = try server.makeDatabase()
        defer { server.drop(url) }
        let key = ["HERALD_MASTER_KEY": String(repeating: "A", count: 43) + "="]
        func start() async throws -> HeraldProcess {
            try await HeraldProcess.start(
                command: ["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", url], environment: key)
        }
        let first = try await start()
        try await first.publish()
        #expect(try await first.stop() == .exited(0))
        let other = ["HERALD_MASTER_KEY": String(repeating: "B", count: 42) + "A="]
        #expect(try await refusal(url, 65, environment: other).contains("Provide the master key that encrypted them"))
        #expect(try await refusal(url, 65).contains("Provide the master key that encrypted them"))
        try server.sql("UPDATE herald.meta SET version = version + 99, oldest_version = oldest_version + 99", url)
        #expect(try await refusal(url, 65, environment: key).contains("has schema version 1"))
        try server.sql("UPDATE herald.meta SET version = version - 99, oldest_version = oldest_version - 99", url)
        let second = try await start()
        #expect(try await second.get("/v1/events").data.count == 1)
        #expect(try await second.stop() == .exited(0))
    }

    @Test("a standby alone is refused with 69")
    func standby() async throws {
        let primary = try PostgresServer()
        let url = try primary.makeDatabase()
        let standby = try PostgresServer(standbyOf: primary)
        let text = try await refusal(standby.copy(of: url), 69)
        #expect(text.contains("The store can't be reached") && text.contains("read-only"))
    }

    @Test(
        "PgBouncer is refused with 73, whether it gives sessions or transactions",
        arguments: ["transaction", "session"])
    func pooler(_ mode: String) async throws {
        let server = try PostgresServer.shared()
        let url = try server.makeDatabase()
        defer { server.drop(url) }
        let folder = TemporaryFolder()
        let port = try unusedPort()
        let name = try server.sql("SELECT current_database()", url)
        let file = try folder.write(
            """
            [databases]
            \(name) = host=\(url.split(separator: "=").last ?? "") user=herald
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = \(mode)
            """, to: "pgbouncer.ini")
        // It does not run as root.
        chmod(folder.path, 0o755)
        chmod(file, 0o644)
        let user = getuid() == 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : ["env"]
        let pooler = try ChildProcess(user[0], user.dropFirst() + ["/usr/sbin/pgbouncer", file])
        defer { pooler.signal(SIGKILL) }
        try await eventually("PgBouncer runs") {
            if pooler.end != nil { throw HeraldFailure(what: "PgBouncer ended: \(pooler.text)") }
            return pooler.lines.contains { $0.contains("process up") }
        }
        let text = try await refusal("postgres://herald@127.0.0.1:\(port)/\(name)", 73)
        #expect(
            text.contains("there is a connection pooler in between") && text.contains("connect to the server itself"))
    }
}
