/// A permission of an access key.
package enum Scope: String, CaseIterable, Sendable {
    /// Posting events, logins and states only.
    case publish
    /// Reading everything of the app except its keys.
    case read
    /// Pulling and settling the events of pull delegates only.
    case consume
    /// Changing and reading everything of the app except its keys.
    case manage
    /// Everything, in every app: for operators.
    case admin
}

/// The scopes of a key, including implied ones.
package struct Scopes: Equatable, Sendable {
    private let bits: UInt8

    package init(_ scopes: some Sequence<Scope>) {
        bits = scopes.reduce(0) { $0 | $1.included }
    }

    package static let all = Scopes([.admin])

    package func allow(_ scope: Scope) -> Bool { bits & scope.bit != 0 }
}

extension Scope {
    fileprivate var bit: UInt8 {
        switch self {
        case .publish: 1
        case .read: 2
        case .manage: 4
        case .admin: 8
        case .consume: 16
        }
    }

    fileprivate var included: UInt8 {
        switch self {
        case .publish, .read, .consume: bit
        case .manage: bit | Scope.read.bit | Scope.consume.bit
        case .admin: 31
        }
    }
}
