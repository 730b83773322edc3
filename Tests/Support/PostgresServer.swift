import Glibc
import Synchronization

/// A PostgreSQL server for the tests of this process: started at the first use in a temporary folder, with a Unix socket alone,
/// and gone with the process, however that ends. It does not flush: tests of what survives a crash start one of their own.
public final class PostgresServer: Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private enum State {
        case none
        case running(PostgresServer)
        case failed(Failure)
    }
    private static let state = Mutex(State.none)

    private let binaries: String
    /// The folder of the socket.
    private let folder: String
    private let databases = Atomic<Int>(0)

    /// The server of this process.
    public static func shared() throws -> PostgresServer {
        try state.withLock { state in
            switch state {
            case .running(let server): return server
            case .failed(let failure): throw failure
            case .none:
                do {
                    let server = try PostgresServer()
                    state = .running(server)
                    return server
                } catch {
                    let failure = Failure(description: "PostgreSQL can't be started: \(error)")
                    state = .failed(failure)
                    throw failure
                }
            }
        }
    }

    /// - Parameters:
    ///   - settings: of the server, such as `fsync=on`.
    ///   - primary: the server that it is a standby of.
    public init(_ settings: [String] = [], standbyOf primary: PostgresServer? = nil) throws {
        binaries = try Self.findBinaries()
        var template = Array("/tmp/herald-pg-XXXXXX".utf8CString)
        guard let path = mkdtemp(&template) else { throw Failure(description: "no temporary folder") }
        folder = String(cString: path)
        // The server does not run as root.
        var user: [String] = []
        if getuid() == 0 {
            guard let entry = getpwnam("postgres") else { throw Failure(description: "there is no user postgres") }
            chown(folder, entry.pointee.pw_uid, entry.pointee.pw_gid)
            user = ["--reuid=postgres", "--regid=postgres", "--clear-groups"]
        }
        let all = ["fsync=off", "full_page_writes=off", "max_connections=300", "shared_buffers=64MB"] + settings
        let create =
            primary.map { #"pg_basebackup" -D "$1/data" -U herald -h \#($0.folder) -R -X stream -c fast --no-sync"# }
            ?? #"initdb" -D "$1/data" -U herald -A trust -E UTF8 --locale=C --no-sync"#
        let script = """
            trap 'rm -f "$1/crash"; kill -QUIT $server 2>/dev/null' TERM
            "$0/\(create) >"$1/initdb.log" 2>&1 || { cat "$1/initdb.log"; exit 1; }
            while true; do
                "$0/postgres" -D "$1/data" -k "$1" -h '' \(all.map { "-c \($0)" }.joined(separator: " ")) 2>&1 &
                server=$!
                wait $server
                wait $server
                rm "$1/crash" 2>/dev/null || break
            done
            rm -rf "$1"
            """
        // The signal of a parent's death is that of the thread that has started it: this one stays.
        let (binaries, folder, arguments) = (binaries, folder, user)
        let process = Started()
        RawHTTP.start {
            let result = Result {
                try ChildProcess(
                    "setpriv",
                    arguments + ["--pdeathsig=TERM", "sh", "-c", script, binaries, folder], environment: ["LC_ALL": "C"]
                )
            }
            process.result.withLock { $0 = result }
            while true { pause() }
        }
        let child = try blockUntil("a process for PostgreSQL") { try process.result.withLock { try $0?.get() } }
        try blockUntil("PostgreSQL starts") {
            if child.end != nil { throw Failure(description: child.text) }
            // A standby accepts read-only ones.
            return child.lines.contains { $0.contains("database system is ready to accept") }
        }
    }

    private final class Started: Sendable {
        let result = Mutex<Result<ChildProcess, any Error>?>(nil)
    }

    private static func findBinaries() throws -> String {
        let root = "/usr/lib/postgresql"
        let versions = ((try? Files.names(in: root)) ?? []).compactMap { Int($0) }.sorted()
        guard let newest = versions.last(where: { Files.exists("\(root)/\($0)/bin/initdb") }) else {
            throw Failure(description: "it is not installed (`script/bootstrap --test` installs it)")
        }
        return "\(root)/\(newest)/bin"
    }

    // MARK: Databases

    /// Makes an empty database.
    /// - Parameter options: of `createdb`.
    /// - Returns: its address.
    public func makeDatabase(_ options: [String] = []) throws -> String {
        let name = "test_\(databases.add(1, ordering: .relaxed).newValue)"
        try run("createdb", options + ["-U", "herald", name])
        return "postgres://herald@/\(name)?host=\(folder)"
    }

    /// The address of a database that is on several servers.
    public func url(_ database: String, or other: PostgresServer) -> String { "\(database),\(other.folder)" }

    /// Returns the address of this database on this server, a standby.
    public func copy(of database: String) -> String {
        database.prefix { $0 != "=" } + "=" + folder
    }

    /// Removes a database, with all its sessions.
    public func drop(_ url: String) {
        let name = url.split(separator: "/").dropFirst().first { $0.hasPrefix("test_") }?.prefix { $0 != "?" } ?? ""
        _ = try? ChildProcess("\(binaries)/dropdb", ["-h", folder, "--force", "-U", "herald", String(name)])
    }

    /// Runs SQL as a superuser, and returns what it prints: fields separated by `|`.
    @discardableResult
    public func sql(_ text: String, _ url: String) throws -> String {
        try sql(each: [text], url)
    }

    /// Runs texts in one session, each in a transaction of its own unless it has others.
    @discardableResult
    public func sql(each texts: [String], _ url: String) throws -> String {
        try run("psql", ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"] + texts.flatMap { ["-c", $0] } + [url])
    }

    // MARK: Going away

    /// Refuses connections, and ends the sessions of Herald.
    public func goAway() throws {
        mkdir(folder + "/hidden", 0o755)
        guard rename(folder + Self.socket, folder + "/hidden" + Self.socket) == 0 else {
            throw Failure(description: "the socket can't be moved")
        }
        try run(
            "psql",
            [
                "-X", "-q", "-U", "herald", "-c",
                """
                SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name LIKE 'herald, %'
                """, "postgres",
            ], host: folder + "/hidden")
    }

    public func comeBack() throws {
        guard rename(folder + "/hidden" + Self.socket, folder + Self.socket) == 0 else {
            throw Failure(description: "the socket can't be moved")
        }
    }

    /// Ends it at once: what was not flushed is gone. Then it starts again, and this returns.
    public func crash() throws {
        let text = String(decoding: try Files.read(folder + "/data/postmaster.pid"), as: UTF8.self)
        guard let line = text.split(separator: "\n").first, let process = Int32(line) else {
            throw Failure(description: "PostgreSQL does not run")
        }
        try Files.write([], to: folder + "/crash")
        kill(process, SIGQUIT)
        try blockUntil("PostgreSQL has ended") { !Files.exists(folder + "/crash") }
        try blockUntil("PostgreSQL runs again") {
            (try? run("psql", ["-X", "-q", "-U", "herald", "-c", "", "postgres"])) != nil
        }
    }

    private static let socket = "/.s.PGSQL.5432"

    @discardableResult
    private func run(_ program: String, _ arguments: [String], host: String? = nil) throws -> String {
        let child = try ChildProcess("\(binaries)/\(program)", ["-h", host ?? folder] + arguments)
        let end = try blockUntil("\(program) ends") { child.end }
        guard end == .exited(0) else { throw Failure(description: "\(program): \(child.text)") }
        return child.text
    }
}
