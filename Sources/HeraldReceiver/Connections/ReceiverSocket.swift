import Glibc
internal import HeraldRuntime

/// A bound, listening, non-blocking IPv4 socket, closed when it is released.
final class ReceiverSocket: Sendable {
    let descriptor: Int32
    let port: UInt16

    /// Pending connections in the system's queue.
    private static let backlog: Int32 = 4096

    init(address: String, port: UInt16) throws(ReceiverError) {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        guard inet_pton(AF_INET, address, &name.sin_addr) == 1 else { throw .notAnAddress(address) }
        do throws(SystemError) {
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let descriptor = Int32(try systemCall("socket") { Int(socket(AF_INET, type, 0)) })
            do throws(SystemError) {
                self.port = try Self.listen(descriptor, &name)
            } catch {
                close(descriptor)
                throw error
            }
            self.descriptor = descriptor
        } catch {
            throw .cannotListen("\(address):\(port)", error)
        }
    }

    deinit { close(descriptor) }

    private static func listen(_ descriptor: Int32, _ name: inout sockaddr_in) throws(SystemError) -> UInt16 {
        var one: Int32 = 1
        _ = try systemCall("setsockopt") { Int(setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, 4)) }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &name) { pointer throws(SystemError) in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer throws(SystemError) in
                _ = try systemCall("bind") { Int(bind(descriptor, pointer, length)) }
                _ = try systemCall("listen") { Int(Glibc.listen(descriptor, backlog)) }
                _ = try systemCall("getsockname") { Int(getsockname(descriptor, pointer, &length)) }
            }
        }
        return UInt16(bigEndian: name.sin_port)
    }
}
