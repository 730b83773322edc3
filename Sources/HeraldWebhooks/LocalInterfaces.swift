// CHeraldCurl, because the compiler may attribute the socket headers that it includes to it.
import CHeraldCurl
import Glibc
package import HeraldRuntime

extension IPAddress {
    /// The current addresses of this machine's network interfaces. Any thread.
    package static func ofInterfaces() -> [IPAddress] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0, let first = list else { return [] }
        defer { freeifaddrs(first) }
        return sequence(first: first) { $0.pointee.ifa_next }
            .compactMap { $0.pointee.ifa_addr.flatMap(IPAddress.init(socketAddress:)) }
    }

    /// `nil` for other address families.
    init?(socketAddress: UnsafeMutablePointer<sockaddr>) {
        let raw = UnsafeRawPointer(socketAddress)
        switch Int32(socketAddress.pointee.sa_family) {
        case AF_INET:
            self.init(bytes: withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in.self).sin_addr) { Array($0) })
        case AF_INET6:
            self.init(bytes: withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { Array($0) })
        default: return nil
        }
    }
}
