// CHeraldCurl, because the compiler may attribute the socket headers that it includes to it.
import CHeraldCurl
import Glibc

/// Resolves with the system's resolver: the hosts file, DNS, and the other sources in `nsswitch.conf`. Blocks.
package let systemLookup: Resolver.Lookup = { host in
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, nil, &hints, &list)
    guard code == 0 else { return .failed(String(cString: gai_strerror(code))) }
    defer { freeaddrinfo(list) }
    var addresses: [IPAddress] = []
    var entry = list
    while let current = entry {
        // Skips unknown address families, which would be refused when the socket opens.
        if let address = current.pointee.ai_addr.flatMap(IPAddress.init(socketAddress:)), !addresses.contains(address) {
            addresses.append(address)
        }
        entry = current.pointee.ai_next
    }
    return .addresses(addresses)
}
