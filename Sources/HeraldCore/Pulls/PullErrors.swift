extension PullWrite.Outcome {
    /// Why nothing was done; `nil` for a success.
    /// - Parameters:
    ///   - delegate: its id.
    ///   - lease: the one that the request names.
    package func error(_ delegate: String, lease: String) -> HubError? {
        switch self {
        case .settled, .extended, .sought, .claimed, .moved, .isFull: nil
        case .leaseEnded: .leaseEnded(id: lease)
        case .notFound: .noDelegate(delegate)
        case .isPaused: .delegatePaused(id: delegate)
        case .wrongKind: .wrongKind(delegate, .webhook)
        case .unknownEvents(let pointers): .invalid(pointers.map { FieldError($0, "is no event of the lease") })
        }
    }
}
