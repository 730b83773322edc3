import Glibc
internal import HeraldRuntime

/// A bound, listening, non-blocking TCP socket. Created here and not by libmicrohttpd, whose only error is "failed".
struct ListeningSocket {
    let descriptor: Int32
    let port: UInt16

    /// Pending connections in the system's queue.
    static let backlog: Int32 = 1024
    /// The system's send buffer of each connection, which could grow to megabytes. A client 100 ms away still gets 2 MB
    /// per second.
    private static let unreadBytes: Int32 = 128 << 10

    /// One socket for each loop, all on one port; the system chooses it if `port` is 0.
    static func open(
        host: String, port: UInt16, count: Int, backlog: Int32 = backlog
    ) throws(HTTPServerError) -> [ListeningSocket] {
        var address = try SocketAddress(host: host, port: port)
        if count > 1, port != 0 {
            // Because SO_REUSEPORT would silently share the port with another server of the same user.
            close(try ListeningSocket(address, host: host, isShared: false, backlog).descriptor)
        }
        var sockets: [ListeningSocket] = []
        do {
            for _ in 0..<count {
                let socket = try ListeningSocket(address, host: host, isShared: count > 1, backlog)
                sockets.append(socket)
                address.port = socket.port
            }
        } catch {
            for socket in sockets { close(socket.descriptor) }
            throw error
        }
        return sockets
    }

    private init(_ address: SocketAddress, host: String, isShared: Bool, _ backlog: Int32) throws(HTTPServerError) {
        do throws(SystemError) {
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let descriptor = Int32(try systemCall("socket") { Int(socket(address.family, type, 0)) })
            do throws(SystemError) {
                try Self.set(SO_REUSEADDR, 1, on: descriptor)
                if isShared { try Self.set(SO_REUSEPORT, 1, on: descriptor) }
                try Self.set(SO_SNDBUF, Self.unreadBytes, on: descriptor)
                _ = try systemCall("bind") { address.withPointer { Int(bind(descriptor, $0, $1)) } }
                _ = try systemCall("listen") { Int(listen(descriptor, backlog)) }
                self.descriptor = descriptor
                port = try SocketAddress(of: descriptor).port
            } catch {
                close(descriptor)
                throw error
            }
        } catch {
            throw .cannotListen(host: host, port: address.port, error)
        }
    }

    private static func set(_ option: Int32, _ value: Int32, on descriptor: Int32) throws(SystemError) {
        var value = value
        _ = try systemCall("setsockopt") { Int(setsockopt(descriptor, SOL_SOCKET, option, &value, 4)) }
    }
}

extension HTTPServer {
    /// The address at which a server with this host listens; `nil` if the host, which may be a name, has none.
    package static func address(of host: String) -> PeerAddress? {
        guard let address = try? SocketAddress(host: host, port: 0) else { return nil }
        return address.withPointer { pointer, _ in PeerAddress(pointer) }
    }

    /// Whether a server could listen there now. Listens for a moment.
    package static func checkListening(host: String, port: UInt16) throws(HTTPServerError) {
        for socket in try ListeningSocket.open(host: host, port: port, count: 1) { close(socket.descriptor) }
    }
}
