/// How a multicast holds a delegate.
public enum DelegateHolding: Hashable, Sendable {
    /// The delegate lives as long as others want it to.
    case weak
    /// The collection keeps it alive until it is removed.
    case strong
}
