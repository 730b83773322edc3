/// What a key allows.
package enum Scope: String, CaseIterable, Sendable {
    /// To post events, logins and states; nothing else.
    case publish
    /// To read everything of the app but its keys.
    case read
    /// To change everything of the app but its keys, and to read it.
    case manage
    /// Everything, in every app: for whoever operates the server.
    case admin
}

/// The scopes of a key, with those that they include.
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
