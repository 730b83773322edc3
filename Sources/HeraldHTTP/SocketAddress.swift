import Glibc
internal import HeraldRuntime

/// A socket address of either family.
struct SocketAddress: Sendable {
    private var storage = sockaddr_storage()
    private var length = socklen_t(MemoryLayout<sockaddr_storage>.size)

    /// To be filled.
    init() {}

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

    /// Without a port.
    init(_ peer: PeerAddress) {
        if peer.isIPv4 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(truncatingIfNeeded: peer.low).bigEndian
            copy(address)
        } else {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            withUnsafeMutableBytes(of: &address.sin6_addr) {
                $0.storeBytes(of: peer.high.bigEndian, as: UInt64.self)
                $0.storeBytes(of: peer.low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            copy(address)
        }
    }

    private mutating func copy<Address>(_ address: Address) {
        length = socklen_t(MemoryLayout<Address>.size)
        withUnsafeMutableBytes(of: &storage) { storage in
            withUnsafeBytes(of: address) { storage.copyMemory(from: $0) }
        }
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

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// Calls a function of the system that writes an address.
    mutating func fill(_ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) -> Int32 {
        length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
        }
    }
}
