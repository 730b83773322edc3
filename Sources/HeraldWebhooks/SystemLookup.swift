// CHeraldCurl, because the socket headers that it includes may count as its own.
import CHeraldCurl
import Glibc

/// Asks the system: the hosts file, DNS, whatever `nsswitch.conf` says. Blocks.
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
        // A family that we don't know has no place here; it would be refused when its socket opens.
        if let address = current.pointee.ai_addr.flatMap(IPAddress.init(socketAddress:)), !addresses.contains(address) {
            addresses.append(address)
        }
        entry = current.pointee.ai_next
    }
    return .addresses(addresses)
}
