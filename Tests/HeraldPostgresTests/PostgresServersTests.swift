import Glibc
import HeraldCore
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
                if client < 0 { return }
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

@Suite("The servers of a PostgreSQL database", .timeLimit(.minutes(3)))
struct PostgresServersTests {
    private func url(_ database: TestDatabase, _ ports: UInt16...) throws -> String {
        let name = try database.sql("SELECT current_database()")
        let hosts = ports.map { "localhost:\($0)" }.joined(separator: ",")
        return "postgres://herald@\(hosts)/\(name)?sslmode=disable&gssencmode=disable"
    }

    @Test("the first server that answers is used, and the next one when it is gone")
    func several() throws {
        let database = try TestDatabase()
        let (dead, deadPort) = try listenOnLoopback()
        close(dead)
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

    @Test("a pooler that gives sessions to others is refused with a sentence")
    func pooler() throws {
        let database = try TestDatabase()
        let pooler = try Relay(database.url, process: 77)
        let url = try url(database, pooler.port)
        let thrown = failure { try PostgresStore(url: url).close() }
        guard case .notWritable(_, let reason)? = thrown else {
            Issue.record("\(String(describing: thrown))")
            return
        }
        #expect(reason.contains("connection pooler") && reason.contains("connect to the server itself"))
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

    /// What a resolver answers; nothing while it is `nil`.
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
