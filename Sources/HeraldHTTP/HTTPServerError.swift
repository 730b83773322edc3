package import HeraldRuntime

/// Why a server could not start.
package enum HTTPServerError: Error, Sendable, CustomStringConvertible {
    case invalidConfiguration(String)
    /// The host is neither an address nor a name that resolves to one.
    case unknownHost(String)
    case cannotListen(host: String, port: UInt16, SystemError)
    case system(SystemError)
    /// libmicrohttpd failed, most likely for lack of memory or descriptors.
    case daemonFailed

    package var description: String {
        switch self {
        case .invalidConfiguration(let problem): problem
        case .unknownHost(let host): "\(host) is not an address to listen on"
        case .cannotListen(let host, let port, let error): "cannot listen on \(host) port \(port): \(error)"
        case .system(let error): error.description
        case .daemonFailed: "the HTTP server could not be started"
        }
    }
}
