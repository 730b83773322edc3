import Glibc
import Synchronization

/// A process that a test started: its output line by line, its exit code, signals. Waiting happens on threads of its own.
public final class ChildProcess: Sendable {
    /// How a process ended.
    public enum End: Equatable, Sendable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    public struct Failure: Error {
        public let what: String
    }

    private struct State {
        var lines: [String] = []
        var end: End?
    }

    public let id: Int32
    private let state = Mutex(State())

    /// Starts a program. What it writes to either output is gathered as lines; it inherits no other descriptor.
    /// - Parameters:
    ///   - program: a path, or a name to be looked up in `PATH`.
    ///   - environment: added to that of the tests; without their own `HERALD_` variables.
    ///   - input: what the program reads.
    public init(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], input: [UInt8] = []
    ) throws {
        let output = try Self.pipe()
        let feed = try Self.pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, feed.read, 0)
        posix_spawn_file_actions_adddup2(&actions, output.write, 1)
        posix_spawn_file_actions_adddup2(&actions, output.write, 2)
        try Self.closeOthers(&actions)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Test runners may hold signals back; the child must not inherit that.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        let argv = ([program] + arguments).map { strdup($0) } + [nil]
        let envp = Self.environment(environment).map { strdup($0) } + [nil]
        defer { for text in argv + envp { free(text) } }
        var started = pid_t()
        let code = posix_spawnp(&started, program, &actions, &attributes, argv, envp)
        close(output.write)
        close(feed.read)
        guard code == 0 else {
            close(output.read)
            close(feed.write)
            throw Failure(what: "\(program) can't be started: \(String(cString: strerror(code)))")
        }
        id = started
        RawHTTP.start { [self] in
            Self.write(input, to: feed.write)
            close(feed.write)
            gather(output.read)
            close(output.read)
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0, errno == EINTR {}
            let end: End = status & 0x7f == 0 ? .exited(status >> 8 & 0xff) : .killed(signal: status & 0x7f)
            state.withLock { $0.end = end }
        }
    }

    public var lines: [String] { state.withLock { $0.lines } }
    public var text: String { lines.joined(separator: "\n") }
    /// `nil` while it runs.
    public var end: End? { state.withLock { $0.end } }

    public func signal(_ number: Int32) {
        // Once it was waited for, the number may belong to another process.
        state.withLock { if $0.end == nil { _ = Glibc.kill(id, number) } }
    }

    /// Waits until it has ended.
    @discardableResult
    public func ended(within seconds: Double = patience) async throws -> End {
        try await eventually("process \(id) ends", within: seconds) { self.end }
    }

    /// Runs a program to its end.
    /// - Returns: how it ended, and all that it wrote.
    public static func run(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], input: [UInt8] = [],
        within seconds: Double = patience
    ) async throws -> (end: End, text: String) {
        let child = try ChildProcess(program, arguments, environment: environment, input: input)
        do {
            return (try await child.ended(within: seconds), child.text)
        } catch {
            child.signal(SIGKILL)
            throw error
        }
    }

    /// Whether a program can be found.
    public static func exists(_ program: String) -> Bool {
        guard let path = getenv("PATH") else { return false }
        return String(cString: path).split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
    }

    private func gather(_ descriptor: Int32) {
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            rest += buffer[..<count]
            guard buffer[..<count].contains(10) else { continue }
            var lines = rest.split(separator: 10, omittingEmptySubsequences: false)
            rest = Array(lines.removeLast())
            let texts = lines.map { String(decoding: $0, as: UTF8.self) }
            state.withLock { $0.lines += texts }
        }
        if !rest.isEmpty {
            let text = String(decoding: rest, as: UTF8.self)
            state.withLock { $0.lines.append(text) }
        }
    }

    private static func pipe() throws -> (read: Int32, write: Int32) {
        var pair: [Int32] = [0, 0]
        guard Glibc.pipe(&pair) == 0 else { throw Failure(what: "no pipe") }
        for descriptor in pair { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        return (pair[0], pair[1])
    }

    /// Sockets of the tests that a child held open would not end when the tests close them.
    private static func closeOthers(_ actions: inout posix_spawn_file_actions_t) throws {
        // Glibc has it since 2.34; the module map hides it.
        typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
        guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else {
            throw Failure(what: "glibc is too old")
        }
        _ = unsafeBitCast(symbol, to: CloseFrom.self)(&actions, 3)
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    private static func environment(_ added: [String: String]) -> [String] {
        var result: [String] = []
        var entry = environ
        while let text = entry.pointee {
            let pair = String(cString: text)
            let name = String(pair.prefix { $0 != "=" })
            // A variable that is there twice has its first value.
            if !name.hasPrefix("HERALD_"), added[name] == nil { result.append(pair) }
            entry += 1
        }
        return result + added.map { "\($0.key)=\($0.value)" }
    }
}
