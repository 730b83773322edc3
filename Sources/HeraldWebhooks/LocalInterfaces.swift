// CHeraldCurl, because the compiler may attribute the socket headers that it includes to it.
import CHeraldCurl
import Glibc
package import HeraldRuntime

extension IPAddress {
    /// The current addresses of this machine's network interfaces. Any thread.
    package static func ofInterfaces() -> [IPAddress] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var addresses: [IPAddress] = []
        var entry = list
        while let current = entry {
            if let address = current.pointee.ifa_addr.flatMap(IPAddress.init(socketAddress:)) {
                addresses.append(address)
            }
            entry = current.pointee.ifa_next
        }
        return addresses
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
