/// How a multicast delegate holds a member.
public enum DelegateHolding: Hashable, Sendable {
    /// The delegate lives as long as other references to it.
    case weak
    /// The collection keeps it alive until it is removed.
    case strong
}
