/// A permission of an access key.
package enum Scope: String, CaseIterable, Sendable {
    /// Posting events, logins and states only.
    case publish
    /// Reading everything of the app except its keys.
    case read
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
        }
    }

    fileprivate var included: UInt8 {
        switch self {
        case .publish, .read: bit
        case .manage: bit | Scope.read.bit
        case .admin: 15
        }
    }
}
