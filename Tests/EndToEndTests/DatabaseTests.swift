import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

/// `herald serve --store postgres://…`. All other tests run on PostgreSQL, too, with `HERALD_TEST_STORE=postgres`.
@Suite("A server on PostgreSQL", .timeLimit(.minutes(20)))
struct DatabaseTests {
    /// Its arguments come last: the folder is not used.
    private func start(_ url: String, _ arguments: [String] = []) async throws -> HeraldProcess {
        let all = ["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", url] + arguments
        return try await HeraldProcess.start(command: all)
    }

    @Test("what was accepted is there after a kill, for a server that shares the database and for the next one")
    func kill() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        defer { try? PostgresServer.shared().drop(url) }
        let (first, second) = (try await start(url), try await start(url))
        let id = try await first.publish("order.created", "\"subject\": \"order:1\"")
        #expect(try await second.get("/v1/events/\(id)").status == 200)
        try await first.kill()
        let third = try await start(url)
        for herald in [second, third] {
            #expect(try await herald.get("/v1/events/\(id)").status == 200)
            #expect(try await herald.stop() == .exited(0))
        }
    }

    @Test("while the database is unavailable, publications get 503 and readyz says so; then it works again by itself")
    func outage() async throws {
        let server = try PostgresServer()
        let url = try server.makeDatabase()
        let herald = try await start(url)
        try await herald.publish()
        try server.goAway()
        // Without a request that writes.
        _ = try await herald.get("/readyz") { $0.status == 503 }
        let refused = try await herald.post("/v1/events", #"{"type": "test.happened"}"#)
        #expect(refused.status == 503 && refused.header("retry-after") != nil)
        let unready = try await herald.get("/readyz")
        #expect(unready.status == 503 && unready.text.contains("The store cannot be reached."))
        #expect(try await herald.get("/v1/events").status == 503)
        try server.comeBack()
        _ = try await herald.get("/readyz") { $0.status == 200 }
        try await herald.publish()
        #expect(try await herald.get("/v1/events")["data"].map { Array($0.elements).count } == 2)
        #expect(try await herald.stop() == .exited(0))
    }

    @Test("a publication whose wait for a standby is canceled gets 503, and is stored once when it is repeated")
    func canceled() async throws {
        let primary = try PostgresServer()
        let url = try primary.makeDatabase()
        let standby = try PostgresServer(standbyOf: primary)
        try primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'", url)
        try primary.sql("SELECT pg_reload_conf()", url)
        try await eventually("the standby is a synchronous one") {
            try primary.sql("SELECT sync_state FROM pg_stat_replication", url) == "sync"
        }
        let herald = try await start(url)
        try await herald.publish()
        let receiver = try #require(
            Int32(
                try standby.sql(
                    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walreceiver'", standby.copy(of: url))))
        Glibc.kill(receiver, SIGSTOP)
        defer { Glibc.kill(receiver, SIGCONT) }
        let (isAnswered, cancellations) = (Flag(), Counter())
        async let canceling: Void = RawHTTP.onThread {
            while !isAnswered.isSet {
                let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                let canceled = try primary.sql("SELECT count(pg_cancel_backend(pid)) \(waiting)", url)
                if canceled != "0" { cancellations.next() }
            }
        }
        let event = #"{"type": "a.b", "id": "once"}"#
        let refused = try await herald.post("/v1/events", event)
        isAnswered.set()
        try await canceling
        #expect(refused.status == 503 && refused.header("retry-after") != nil && cancellations.value > 0)
        Glibc.kill(receiver, SIGCONT)
        _ = try await herald.get("/readyz") { $0.status == 200 }
        #expect([200, 202].contains(try await herald.post("/v1/events", event).status))
        // What it has committed without getting to know it follows, like what others commit.
        _ = try await herald.get("/v1/events") { $0["data"].map { Array($0.elements).count } == 2 }
        #expect(try await herald.stop() == .exited(0))
    }

    @Test("when the database has lost its end, the server continues in its process, with the events of the database")
    func lostEnd() async throws {
        let server = try PostgresServer.shared()
        let url = try server.makeDatabase()
        defer { server.drop(url) }
        let port = try unusedPort()
        let herald = try await HeraldProcess.start(
            command: ["serve", "--listen", "127.0.0.1:\(port)", "--log-format", "json", "--store", url])
        let first = try await herald.publish()
        for number in 1...2 {
            let lost = try await herald.publish()
            try server.sql("DELETE FROM herald.events WHERE id = '\(lost)'", url)
            try server.sql(
                """
                SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name LIKE 'herald, %'
                """, url)
            try await eventually("it has restarted") {
                herald.process.lines.count { $0.contains(#""message":"listening""#) } == number + 1
            }
            _ = try await herald.get("/readyz") { $0.status == 200 }
            #expect(try await herald.get("/v1/events/\(first)").status == 200)
            #expect(try await herald.get("/v1/events/\(lost)").status == 404)
        }
        try await herald.publish()
        #expect(try await herald.stop() == .exited(0))
    }

    @Test("a server that restarts waits for its database, alive and not ready, and can be stopped")
    func waiting() async throws {
        let server = try PostgresServer()
        let url = try server.makeDatabase()
        try server.goAway()
        let port = try unusedPort()
        let command = ["serve", "--listen", "127.0.0.1:\(port)", "--log-format", "json", "--store", url]
        let again = ["_HERALD_NEWEST_PRIMARY": ""]
        func wait() async throws -> ChildProcess {
            let process = try ChildProcess(try Binary.path(), command, environment: again)
            try await eventually("it waits") { process.lines.contains { $0.contains("waiting for the database") } }
            return process
        }
        let stopped = try await wait()
        let statuses = try await RawHTTP.onThread {
            try ["/healthz", "/readyz"].map { path in
                let client = try RawHTTPClient(port: port, sending: "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return try client.readResponse()?.status
            }
        }
        #expect(statuses == [200, 503])
        stopped.signal(SIGTERM)
        #expect(try await stopped.ended() == .exited(0))
        let process = try await wait()
        defer { process.signal(SIGKILL) }
        try server.comeBack()
        try await eventually("it listens") { process.lines.contains { $0.contains(#""message":"listening""#) } }
        process.signal(SIGTERM)
        #expect(try await process.ended() == .exited(0))
    }

    @Test(
        "what does not go together is refused with a sentence",
        arguments: [
            (["--store", "postgres://h@/x", "--data", "d"], "--data and --store exclude each other"),
            (["--store", "postgres://h@/x", "--backup-folder", "/tmp"], "use the backups of PostgreSQL"),
            (["--store", "postgres://h:secret@/x"], "set HERALD_STORE instead"),
            (["--store", "postgres://h@/x?password=secret"], "set HERALD_STORE instead"),
            (["--store", "mysql://h@/x"], "postgres://user@host/database"),
        ])
    func combinations(_ arguments: [String], _ sentence: String) async throws {
        let (end, text) = try await Binary.run(["serve"] + arguments)
        #expect(end == .exited(64))
        #expect(text.contains(sentence) && !text.contains("secret@") && !text.contains("=secret"))
    }

    @Test("a server that can't be reached at the start is named, without the password")
    func unreachable() async throws {
        let (end, text) = try await Binary.run(
            ["serve", "--listen", "127.0.0.1:0"],
            environment: ["HERALD_STORE": "postgres://h:secret@/x?host=/nonexistent"])
        #expect(end == .exited(69))
        #expect(text.contains("The store can't be reached") && !text.contains("secret"))
    }

    @Test("on a public address a database without a key needs one to be given")
    func key() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        defer { try? PostgresServer.shared().drop(url) }
        let (end, text) = try await Binary.run(["serve", "--listen", "0.0.0.0:0", "--store", url])
        #expect(end == .exited(64) && text.contains("HERALD_ADMIN_KEY"))
    }
}
