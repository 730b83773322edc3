import Glibc
// Suites that import TestSupport have the receiver too.
@_exported public import HeraldReceiver
import Synchronization

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
    if failed {
        let code = errno
        close(listener)
        throw NotListening(address: "\(address):\(port)", code: code)
    }
    return (listener, UInt16(bigEndian: name.sin_port))
}

/// The port that `unusedPort` tries next.
private let nextPort = Atomic(Int.random(in: 0..<20_000))

/// A port that is free and stays so until the test uses it: it is below those that the system gives to sockets, and no
/// other test of this process gets it.
public func unusedPort() throws -> UInt16 {
    var code: Int32 = EADDRINUSE
    for _ in 0..<1_000 {
        let port = UInt16(11_000 + nextPort.add(1, ordering: .relaxed).newValue % 20_000)
        do {
            close(try listenOnLoopback("127.0.0.1", port).0)
            return port
        } catch let error as NotListening {
            code = error.code
        }
    }
    throw NotListening(address: "127.0.0.1", code: code)
}

public struct NotListening: Error {
    public let address: String
    /// `errno`.
    public let code: Int32
}
