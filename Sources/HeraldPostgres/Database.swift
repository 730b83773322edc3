import CHeraldPostgres
import Glibc
import HeraldModel
import HeraldRuntime

/// A database on one of several servers: opens sessions with the settings that Herald relies on.
struct Database: Sendable {
    private let url: String
    /// One for each server that the URL names; empty for that of libpq's environment.
    private let servers: [[String: String]]
    /// The servers and the database, for messages: without the user and the password.
    let label: String
    /// The risk of the connection; `nil` if it is encrypted, or stays on this machine.
    let risk: DatabaseRisk?
    /// The name of this process at the server (`application_name`).
    let client: String

    private let names: HostNames
    /// Which of the servers this process writes to.
    let primary: PrimaryWatch

    /// The purpose of a session.
    enum Role: CaseIterable {
        /// Transactions.
        case log
        /// Queries, each of which ends after `readSeconds`.
        case read
        /// Notifications.
        case listen
    }

    /// The longest time for one query, in seconds.
    static let readSeconds = 30.0
    /// The longest time for a transaction or one of its statements, in seconds.
    static let writeSeconds = 10.0
    /// The longest time to connect to one server, in seconds.
    private static let connectSeconds = 3.0
    /// The oldest server, as `server_version_num` writes it.
    private static let leastVersion = 140_000

    /// - Parameters:
    ///   - url: `postgres://user@host1,host2:5433/name?…`, as libpq takes it.
    ///   - newest: the newest primary that is known.
    /// - Throws: `.failed` if it is not one.
    init(url: String, newest: Primary? = nil, _ names: HostNames = HostNames()) throws(StoreError) {
        var problem: UnsafeMutablePointer<CChar>?
        let options = url.holds("://") ? PQconninfoParse(url, &problem) : nil
        defer {
            PQconninfoFree(options)
            PQfreemem(problem)
        }
        guard let options else {
            // libpq's own message may quote the password.
            throw .failed(reason: "the address of the database is not of the form postgres://user@host/database")
        }
        var given: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { given[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        let hosts = Self.list(given["host"])
        let addresses = Self.list(given["hostaddr"])
        let ports = Self.list(given["port"])
        servers = (0..<max(hosts.count, addresses.count, 1)).map { index in
            var server: [String: String] = [:]
            if index < hosts.count { server["host"] = hosts[index] }
            if index < addresses.count { server["hostaddr"] = addresses[index] }
            // One port is for all.
            if let port = index < ports.count ? ports[index] : ports.count == 1 ? ports[0] : nil {
                server["port"] = port
            }
            return server
        }
        self.url = url
        self.names = names
        primary = PrimaryWatch(newest: newest)
        let places = servers.map { server in
            (server["host"] ?? server["hostaddr"] ?? "local") + (server["port"].map { ":\($0)" } ?? "")
        }
        label = "postgres://\(places.joined(separator: ","))/\(given["dbname"] ?? given["user"] ?? "")"
        func fromEnvironment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        risk = DatabaseRisk.ofConnection(
            hosts + addresses + (hosts.isEmpty && addresses.isEmpty ? Self.list(fromEnvironment("PGHOST")) : []),
            mode: given["sslmode"] ?? fromEnvironment("PGSSLMODE"))
        // The server shortens it to 63 bytes.
        client = ProcessName.current
    }

    private static func list(_ text: String?) -> [String] {
        guard let text, !text.isEmpty else { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// Nothing may be written or read any more.
    var ended: StoreError? { primary.end.map { .replaced(path: label, reason: $0) } }

    /// Opens a session on the first server that takes it and can be written to.
    /// - Throws: the reasons of all: that of the primary is the one that helps, and standbys give theirs, too.
    func open(_ role: Role) throws(StoreError) -> PostgresSession {
        var reasons: [String] = []
        for server in servers {
            if let ended { throw ended }
            do throws(PostgresError) {
                return try open(server, role)
            } catch {
                if let ended { throw ended }
                switch error {
                case .refused: throw error.ofRead(label)
                case .unavailable(let reason), .lost(let reason): reasons.append(reason)
                }
            }
        }
        throw .unavailable(reason: reasons.joined(separator: "; "))
    }

    private func open(_ server: [String: String], _ role: Role) throws(PostgresError) -> PostgresSession {
        var reasons: [String] = []
        for address in try addresses(of: server) {
            do throws(PostgresError) {
                let session = try PostgresSession(
                    settings(server.merging(address) { $1 }), seconds: Self.connectSeconds)
                try configure(session, role)
                return session
            } catch {
                switch error {
                case .refused: throw error
                case .unavailable(let reason), .lost(let reason): reasons.append(reason)
                }
            }
        }
        throw .unavailable(reasons.joined(separator: "; "))
    }

    /// Returns the resolved addresses to add to the settings, so that libpq does not resolve names.
    private func addresses(of server: [String: String]) throws(PostgresError) -> [[String: String]] {
        // A path is a socket's.
        guard server["hostaddr"] == nil, let host = server["host"], let first = host.first, first != "/", first != "@"
        else { return [[:]] }
        return try names.addresses(of: host, seconds: Self.connectSeconds).map { ["hostaddr": $0] }
    }

    /// libpq takes a later setting before an earlier one: the URL replaces what stands before it.
    private func settings(_ server: [String: String]) -> [(name: String, value: String)] {
        let defaults = [
            ("application_name", client), ("keepalives_idle", "4"), ("keepalives_interval", "2"),
            ("keepalives_count", "3"), ("tcp_user_timeout", "10000"), ("dbname", url),
        ]
        let fixed = [("target_session_attrs", "read-write"), ("client_encoding", "UTF8")]
        return (defaults + fixed + server.sorted { $0.key < $1.key }).map { (name: $0.0, value: $0.1) }
    }

    /// Limits for roles. They are set by name where they are known: a server that is too old is refused with a sentence, below.
    /// Listeners are idle, and copies are long transactions.
    static let unlimited = """
        (SELECT count(set_config(name, '0', false)) FROM pg_settings
            WHERE name IN ('idle_session_timeout', 'transaction_timeout'))
        """

    /// The plans must not depend on statistics that are not there yet: all queries are written for the indexes. What waits for a lock
    /// must see what was committed while it waited, which no other isolation shows.
    private static func configuration(_ role: Role) -> Statement {
        var settings = [
            "search_path": "herald", "synchronous_commit": "on", "idle_in_transaction_session_timeout": "3s",
            "lock_timeout": "8s", "default_transaction_isolation": "read committed", "jit": "off",
            "plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_hashjoin": "off",
            "enable_mergejoin": "off", "client_min_messages": "warning",
            // Parameters may be secrets: they stay out of the server's log.
            "log_parameter_max_length_on_error": "0",
        ]
        settings["statement_timeout"] = role == .read ? "\(Int(readSeconds))s" : "0"
        // Workers start in tens of milliseconds, during which a transaction holds the lock of the log.
        if role == .log { settings["max_parallel_workers_per_gather"] = "0" }
        let all = settings.sorted { $0.key < $1.key }.map { "set_config('\($0.key)', '\($0.value)', false)" }
        return Statement(
            """
            SELECT pg_backend_pid()::bigint, current_setting('server_encoding'),
                current_setting('server_version_num')::bigint, \(all.joined(separator: ", ")), \(unlimited)
            """)
    }

    private static let configurations = Dictionary(
        uniqueKeysWithValues: Role.allCases.map { ($0, configuration($0)) })

    private func configure(_ session: PostgresSession, _ role: Role) throws(PostgresError) {
        guard let statement = Self.configurations[role] else { return }
        let found = try session.run(Request(statement), seconds: Self.connectSeconds)
        guard let row = found.first else { throw .unavailable("the server did not return its settings") }
        func refuse(_ reason: String) -> PostgresError { .refused(unit: 0, state: Self.unsuitable, message: reason) }
        guard row.integer(0) == session.serverProcess else {
            throw refuse(
                "there is a connection pooler in between. Herald needs sessions of its own: connect to the server itself"
            )
        }
        guard row.text(1) == "UTF8" else {
            throw refuse("its encoding is \(row.text(1)); it has to be created with the encoding UTF8")
        }
        guard row.integer(2) >= Int64(Self.leastVersion) else {
            throw refuse("the server is PostgreSQL \(row.integer(2) / 10_000); Herald needs PostgreSQL 14 or later")
        }
        try primary.admit(try Primary.find(session, seconds: Self.connectSeconds))
    }

    /// SQLSTATE "insufficient privilege", which becomes `StoreError.notWritable`: nothing can be written there.
    private static let unsuitable = "42501"
}

extension PostgresStore {
    /// The version of libpq.
    package static var libraryVersion: String {
        let number = PQlibVersion()
        return "\(number / 10_000).\(number % 10_000)"
    }
}
