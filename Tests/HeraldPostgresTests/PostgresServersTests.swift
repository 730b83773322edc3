import Glibc
import HeraldModel
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldPostgres

/// Passes connections from a port of 127.0.0.1 to the server of a database.
private final class Relay: Sendable {
    let port: UInt16
    private let listener: Int32

    /// - Parameters:
    ///   - url: of the database, with the folder of the server's socket.
    ///   - process: what sessions are told of the number of their process, as a pooler does it that gives them to others.
    init(_ url: String, process: UInt32? = nil) throws {
        (listener, port) = try listenOnLoopback()
        let path = String(url.split(separator: "=").last ?? "") + "/.s.PGSQL.5432"
        let listener = listener
        RawHTTP.start {
            while true {
                let client = accept(listener, nil, nil)
                if client < 0 {
                    close(listener)
                    return
                }
                let server = Self.connect(path)
                RawHTTP.start { Self.pass(from: client, to: server, process: nil) }
                RawHTTP.start { Self.pass(from: server, to: client, process: process) }
            }
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func connect(_ path: String) -> Int32 {
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix(107)) }
        withUnsafePointer(to: &address) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(server, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return server
    }

    private static func pass(from one: Int32, to other: Int32, process: UInt32?) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(one, &buffer, buffer.count), count > 0 {
            if let process { rename(&buffer[..<count], process) }
            var sent = 0
            while sent < count {
                let part = buffer[sent..<count].withUnsafeBytes { write(other, $0.baseAddress, $0.count) }
                if part <= 0 { return }
                sent += part
            }
        }
        shutdown(other, Int32(SHUT_RDWR))
    }

    /// Replaces the number in BackendKeyData: `K`, a length of 12, the number, a key.
    private static func rename(_ bytes: inout ArraySlice<UInt8>, _ process: UInt32) {
        let head: [UInt8] = [UInt8(ascii: "K"), 0, 0, 0, 12]
        for start in bytes.indices where bytes[start...].starts(with: head) && start + 9 <= bytes.endIndex {
            withUnsafeBytes(of: process.bigEndian) { bytes.replaceSubrange(start + 5..<start + 9, with: $0) }
            return
        }
    }
}

@Suite("The servers of a PostgreSQL database", .timeLimit(.minutes(20)))
struct PostgresServersTests {
    private func url(_ database: TestDatabase, _ ports: UInt16...) throws -> String {
        let name = try database.sql("SELECT current_database()")
        let hosts = ports.map { "localhost:\($0)" }.joined(separator: ",")
        return "postgres://herald@\(hosts)/\(name)?sslmode=disable&gssencmode=disable"
    }

    @Test("the first server that responds is used, and the next one when it is unavailable")
    func several() throws {
        let database = try TestDatabase()
        let deadPort = try unusedPort()
        var first: Relay? = try Relay(database.url)
        let second = try Relay(database.url)
        let url = try url(database, deadPort, try #require(first).port, second.port)
        let store = try PostgresStore(url: url)
        defer { store.close() }
        #expect(store.label.hasPrefix("postgres://localhost:\(deadPort),localhost:"))
        try store.append("a")
        first = nil
        try database.endSessions()
        try store.append("b")
        #expect(try store.ids() == ["a", "b"])
    }

    @Test("after a promotion no process continues with its state in memory, and the former primary is refused")
    func promotion() async throws {
        let primary = try PostgresServer()
        let database = try TestDatabase(on: primary)
        let store = try PostgresStore(url: database.url)
        try store.append("a")
        store.close()
        let standby = try PostgresServer(standbyOf: primary)
        let copy = standby.copy(of: database.url)
        try await eventually("the standby follows") {
            try standby.sql("SELECT count(*) FROM herald.events", copy) == "1"
        }
        // In vain: it is none that can be written to.
        let refused = failure { try PostgresStore(url: copy).close() }
        #expect(refused?.description.hasPrefix("The store can't be reached") == true)
        let url = primary.url(database.url, or: standby)
        let first = try PostgresStore(url: url)
        defer { first.close() }
        let reader = try first.makeReader()
        #expect(try reader.lastEvent() == 1)
        try primary.goAway()
        try standby.sql("SELECT pg_promote()", copy)
        // Its end is not where it was, which the numbers do not show.
        let replaced = StoreError.replaced(
            path: first.label, reason: "another server has taken over, with timeline 2")
        for _ in 0..<2 { #expect(failure { try first.append("b") } == replaced) }
        #expect(throws: StoreError.self) { try reader.lastEvent() }
        #expect(throws: StoreError.self) { try first.checkFiles() }
        try primary.comeBack()
        // The first one of the address can be written to, and is none any more.
        let second = try PostgresStore(url: url, newest: first.newestPrimary)
        defer { second.close() }
        try second.append("b")
        #expect(try standby.sql("SELECT count(*) FROM herald.events", copy) == "2")
        #expect(try database.sql("SELECT count(*) FROM herald.events") == "1")
        let alone = failure { try PostgresStore(url: database.url, newest: second.newestPrimary).close() }
        let older = "The store can't be reached: it is on timeline 1, and another server has taken over with 2"
        #expect(alone?.description.hasPrefix(older) == true, "\(String(describing: alone))")
    }

    @Test("a primary is newer by its timeline; of another system it is another one")
    func primaries() throws {
        let known = try #require(Primary("7/2"))
        #expect(Primary(known.description) == known)
        #expect(Primary("") == nil && Primary("7") == nil && Primary("7/x") == nil)
        let cases: [(Primary?, isUsed: Bool, isAdmitted: Bool, ends: Bool)] = [
            (known, true, true, false), (nil, true, true, false),
            (Primary("7/1"), true, false, false), (Primary("7/1"), false, false, false),
            (Primary("7/3"), true, false, true), (Primary("7/3"), false, true, false),
            (Primary("8/1"), true, false, true), (Primary("8/1"), false, true, false),
        ]
        for (found, isUsed, isAdmitted, ends) in cases {
            let watch = PrimaryWatch(newest: known)
            if isUsed { try watch.admit(known) }
            #expect(((try? watch.admit(found)) != nil) == isAdmitted, "\(String(describing: found))")
            #expect((watch.end != nil) == ends, "\(String(describing: found))")
        }
    }

    @Test(
        "a server that may not say who it is, or can't, is used without; one that had no resources is not",
        arguments: [("42501", true), ("42883", true), ("0A000", true), ("53200", false), ("57014", false)])
    func untold(_ state: String, _ isUntold: Bool) {
        #expect(Primary.isUntold(.refused(unit: 0, state: state, message: "")) == isUntold)
        #expect(!Primary.isUntold(.lost("")) && !Primary.isUntold(.unavailable("")))
    }

    @Test("a pooler that gives sessions to others is refused with a sentence")
    func pooler() throws {
        let database = try TestDatabase()
        let pooler = try Relay(database.url, process: 77)
        let url = try url(database, pooler.port)
        let thrown = failure { try PostgresStore(url: url).close() }
        let reason =
            "there is a connection pooler in between. Herald needs sessions of its own: connect to the server itself"
        #expect(try thrown == .notWritable(path: Database(url: url).label, reason: reason))
    }

    @Test("errors of a database name no commands and permissions of a data folder")
    func advice() throws {
        let label = try Database(url: "postgres://herald@db.example/herald").label
        for error in [
            StoreError.corrupt(path: label, reason: "a page"), .notWritable(path: label, reason: "a right"),
            .sealed(path: label, reason: "and no key was given"),
        ] {
            let text = error.description
            #expect(["herald check", "salvage", "rewrap", "owner"].allSatisfy { !text.contains($0) }, "\(text)")
        }
        #expect(StoreError.corrupt(path: "/var/lib/herald", reason: "a page").description.contains("`herald check`"))
    }

    @Test("the lookup of a name has a deadline; what was found is used until something else is found")
    func names() throws {
        let answers = Answers()
        let names = HostNames { name in answers.look(name) }
        #expect(throws: PostgresError.self) { try names.addresses(of: "a", seconds: 0.01) }
        answers.found.withLock { $0 = ["192.0.2.1", "192.0.2.2"] }
        #expect(try names.addresses(of: "a", seconds: 60) == ["192.0.2.1", "192.0.2.2"])
        answers.found.withLock { $0 = [] }
        #expect(try names.addresses(of: "a", seconds: 60) == ["192.0.2.1", "192.0.2.2"])
        answers.found.withLock { $0 = nil }
        #expect(try names.addresses(of: "a", seconds: 0.01) == ["192.0.2.1", "192.0.2.2"])
        #expect(throws: PostgresError.self) { try names.addresses(of: "b", seconds: 0.01) }
        answers.found.withLock { $0 = ["192.0.2.3"] }
        #expect(try names.addresses(of: "b", seconds: 60) == ["192.0.2.3"])
        #expect(HostNames.system("localhost").contains("127.0.0.1"))
        #expect(HostNames.system("nobody.invalid").isEmpty)
    }

    /// The responses of a resolver; it does not respond while they are `nil`.
    private final class Answers: Sendable {
        let found = Mutex<[String]?>(nil)

        func look(_ name: String) -> [String] {
            while true {
                if let found = found.withLock({ $0 }) { return found }
                briefPause()
            }
        }
    }
}
