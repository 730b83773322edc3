import Glibc
// Suites that import TestSupport have the receiver too.
@_exported public import HeraldReceiver

/// Listens without ever answering a call: `connect` succeeds until the queue of the kernel is full.
/// - Parameter backlog: how many connections wait until they are accepted.
public func listenOnLoopback(
    _ address: String = "127.0.0.1", _ port: UInt16 = 0, backlog: Int32 = 1024
) throws -> (Int32, UInt16) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var one: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, 4)
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    inet_pton(AF_INET, address, &name.sin_addr)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = withUnsafeMutablePointer(to: &name) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            bind(listener, pointer, length) != 0 || listen(listener, backlog) != 0
                || getsockname(listener, pointer, &length) != 0
        }
    }
    if failed { throw NotListening(address: "\(address):\(port)", code: errno) }
    return (listener, UInt16(bigEndian: name.sin_port))
}

/// A port of 127.0.0.1 on which no process listens.
public func freePort() throws -> UInt16 {
    let (listener, port) = try listenOnLoopback()
    close(listener)
    return port
}

public struct NotListening: Error {
    public let address: String
    /// `errno`.
    public let code: Int32
}
