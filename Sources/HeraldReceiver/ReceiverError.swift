package import HeraldRuntime

/// Why a receiver can't be created.
package enum ReceiverError: Error, CustomStringConvertible {
    case notAnAddress(String)
    case cannotListen(String, SystemError)
    case system(SystemError)
    /// OpenSSL failed in the given operation.
    case tlsFailed(String)

    package var description: String {
        switch self {
        case .notAnAddress(let text): "\(text) is not an IPv4 address, such as 127.0.0.1."
        case .cannotListen(let address, let error): "Can't listen on \(address): \(error)."
        case .system(let error): "The system refused: \(error)."
        case .tlsFailed(let action): "OpenSSL failed when \(action)."
        }
    }
}
