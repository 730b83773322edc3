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
    static func open(host: String, port: UInt16, count: Int) throws(HTTPServerError) -> [ListeningSocket] {
        var address = try Address(host: host, port: port)
        if count > 1, port != 0 {
            // Because SO_REUSEPORT would silently share the port with another server of the same user.
            close(try ListeningSocket(address, host: host, isShared: false).descriptor)
        }
        var sockets: [ListeningSocket] = []
        do {
            for _ in 0..<count {
                let socket = try ListeningSocket(address, host: host, isShared: count > 1)
                sockets.append(socket)
                address.port = socket.port
            }
        } catch {
            for socket in sockets { close(socket.descriptor) }
            throw error
        }
        return sockets
    }

    private init(_ address: Address, host: String, isShared: Bool) throws(HTTPServerError) {
        do throws(SystemError) {
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let descriptor = Int32(try systemCall("socket") { Int(socket(address.family, type, 0)) })
            do throws(SystemError) {
                try Self.set(SO_REUSEADDR, 1, on: descriptor)
                if isShared { try Self.set(SO_REUSEPORT, 1, on: descriptor) }
                try Self.set(SO_SNDBUF, Self.unreadBytes, on: descriptor)
                _ = try systemCall("bind") { address.withPointer { Int(bind(descriptor, $0, $1)) } }
                _ = try systemCall("listen") { Int(listen(descriptor, Self.backlog)) }
                self.descriptor = descriptor
                port = try Address(of: descriptor).port
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

/// A socket address of either family.
private struct Address {
    private var storage = sockaddr_storage()
    private var length = socklen_t(MemoryLayout<sockaddr_storage>.size)

    /// Resolves a name or parses an address, which may be in brackets.
    init(host: String, port: UInt16) throws(HTTPServerError) {
        var name = host
        if name.hasPrefix("["), name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE
        var list: UnsafeMutablePointer<addrinfo>?
        guard !name.isEmpty, getaddrinfo(name, nil, &hints, &list) == 0, let first = list?.pointee else {
            throw .unknownHost(host)
        }
        length = first.ai_addrlen
        withUnsafeMutableBytes(of: &storage) { storage in
            storage.copyMemory(from: UnsafeRawBufferPointer(start: first.ai_addr, count: Int(first.ai_addrlen)))
        }
        freeaddrinfo(list)
        self.port = port
    }

    /// The address that a socket is bound to.
    init(of descriptor: Int32) throws(SystemError) {
        _ = try systemCall("getsockname") {
            withUnsafeMutablePointer(to: &storage) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Int(getsockname(descriptor, $0, &length)) }
            }
        }
    }

    var family: Int32 { Int32(storage.ss_family) }

    /// In both families the port is in bytes 2 and 3.
    var port: UInt16 {
        get { withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) } }
        set {
            withUnsafeMutableBytes(of: &storage) {
                $0.storeBytes(of: newValue.bigEndian, toByteOffset: 2, as: UInt16.self)
            }
        }
    }

    func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int) -> Int {
        withUnsafePointer(to: storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
