import Glibc
import HeraldRuntime
import Synchronization

/// The service manager that started the process, such as systemd. It receives the state of the server as datagrams, as
/// sd_notify(3) describes. Any thread.
final class ServiceManager: Sendable {
    /// Milliseconds between two notifications that the server works: half of what the manager allows. `nil` if it expects none.
    let watchdogMilliseconds: Int32?
    /// `NOTIFY_SOCKET`; `nil` if no manager expects notifications.
    private let socketName: String?
    private let log: Log
    private let hasWarned = Atomic(false)

    /// - Parameter variable: returns the value of an environment variable.
    init(_ log: Log, variable: (String) -> String? = { name in getenv(name).map { String(cString: $0) } }) {
        self.log = log
        socketName = variable("NOTIFY_SOCKET").flatMap { $0.isEmpty ? nil : $0 }
        let isForThisProcess = variable("WATCHDOG_PID").map { $0 == String(getpid()) } ?? true
        let microseconds = variable("WATCHDOG_USEC").flatMap(Int64.init) ?? 0
        watchdogMilliseconds =
            socketName != nil && isForThisProcess && microseconds > 0
            ? Int32(clamping: max(1, microseconds / 2_000)) : nil
    }

    /// The server accepts requests, and its store is open.
    func isReady(_ status: String) { send("READY=1\nSTATUS=\(status)") }

    func isStopping() { send("STOPPING=1\nSTATUS=Completing open requests and callbacks") }

    /// The process replaces itself by a new image, which will be ready: for the manager it does not end.
    func isRestarting() {
        let microseconds = Clock.system.monotonic() / 1_000
        send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)\nSTATUS=Restarting: the database is another one")
    }

    func isAlive() { if watchdogMilliseconds != nil { send("WATCHDOG=1") } }

    // MARK: The socket

    private struct Failure: Error {
        let reason: String

        static func system(_ code: Int32) -> Failure { Failure(reason: String(cString: strerror(code))) }
    }

    /// A failure is logged once, and stops nothing.
    private func send(_ message: String) {
        guard let socketName else { return }
        do throws(Failure) {
            try Self.send(message, to: socketName)
        } catch {
            guard !hasWarned.exchange(true, ordering: .relaxed) else { return }
            log.warning(
                "the service manager cannot be notified",
                [
                    "NOTIFY_SOCKET": socketName, "reason": error.reason,
                    "to_do": "unset NOTIFY_SOCKET, or start it as Type=notify",
                ])
        }
    }

    /// A socket for each message: nothing stays open, and a manager that restarts makes no difference.
    private static func send(_ message: String, to name: String) throws(Failure) {
        var (address, size) = try address(name)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .system(errno) }
        defer { close(descriptor) }
        // A manager that does not read its socket must not hold up the server.
        var limit = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let bytes = Array(message.utf8)
        let count = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, size)
            }
        }
        guard count == bytes.count else { throw .system(count < 0 ? errno : EMSGSIZE) }
    }

    /// A path, or `@` and an abstract name.
    private static func address(_ name: String) throws(Failure) -> (sockaddr_un, socklen_t) {
        var bytes = Array(name.utf8)
        var address = sockaddr_un()
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        let failure = Failure(reason: "it is neither a path nor an abstract name")
        // One byte stays 0 as the end of a path.
        guard (2..<capacity).contains(bytes.count) else { throw failure }
        switch bytes[0] {
        case UInt8(ascii: "/"): bytes.append(0)
        case UInt8(ascii: "@"): bytes[0] = 0
        default: throw failure
        }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return (address, socklen_t((MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2) + bytes.count))
    }
}
