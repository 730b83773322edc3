import Glibc

/// The name by which operators know this process: `herald, process 4711 on host`.
package enum ProcessName {
    package static let current = "herald, process \(getpid()) on \(host.prefix(30))"

    /// The name of the machine.
    package static var host: String {
        var name = utsname()
        uname(&name)
        return withUnsafeBytes(of: name.nodename) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
