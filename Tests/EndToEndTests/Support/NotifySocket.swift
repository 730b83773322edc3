import Glibc
import HeraldTestSupport

/// A socket for datagrams on which a service manager would receive notifications.
final class NotifySocket: Sendable {
    enum Kind: CaseIterable { case path, abstract }

    /// The value of `NOTIFY_SOCKET`.
    let name: String
    private let descriptor: Int32
    private let received = Recorder<String>()

    init(_ kind: Kind, in folder: TemporaryFolder) throws {
        name = kind == .path ? folder.path + "/notify" : "@herald-test-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if kind == .abstract { bytes[0] = 0 } else { bytes.append(0) }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let size = socklen_t(2 + bytes.count)
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        guard code == 0 else { throw HeraldFailure(what: "no socket \(name): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// All messages so far.
    var messages: [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count >= 0 else { return received.items }
            received.record(String(decoding: buffer[..<count], as: UTF8.self))
        }
    }

    /// The first words of the messages, without `WATCHDOG=1`.
    var states: [String] { messages.filter { $0 != "WATCHDOG=1" }.map { String($0.prefix { $0 != "\n" }) } }

    var watchdogCount: Int { messages.count { $0 == "WATCHDOG=1" } }
}
