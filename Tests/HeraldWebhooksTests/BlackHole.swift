import Glibc
import HeraldTestSupport

/// An address that drops packets: a listener whose queue is full, and so answers no further connection.
final class BlackHole: Sendable {
    let port: UInt16
    private let sockets: [Int32]

    init(_ address: String, port: UInt16 = 0) throws {
        let (listener, port) = try listenOnLoopback(address, port, backlog: 0)
        self.port = port
        sockets = [listener] + (0..<4).map { _ in fillQueue(address, port) }
    }

    func close() { for socket in sockets { Glibc.close(socket) } }
}

/// Begins a connection that nothing accepts.
private func fillQueue(_ address: String, _ port: UInt16) -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    var target = sockaddr_in()
    target.sin_family = sa_family_t(AF_INET)
    target.sin_port = port.bigEndian
    inet_pton(AF_INET, address, &target.sin_addr)
    withUnsafePointer(to: target) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            _ = connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    return descriptor
}
