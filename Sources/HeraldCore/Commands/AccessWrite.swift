/// A change of who is let in: what is asked for, and who waits for it.
public struct AccessWrite: Sendable {
    public enum Action: Sendable {
        case addKey(APIKey)
        /// Makes another key with the same name, scopes and length of life; the old one ends `overlap` milliseconds later.
        case rotateKey(id: String, replacement: NewKey, overlap: Int64)
        /// Ends a key at once.
        case revokeKey(id: String)
        /// A session begins, or a link is made.
        case open(Session)
        /// A session ends, by the SHA-256 of its text.
        case close([UInt8])
        /// Something is done that changes nothing in the store: for the audit log.
        case note(target: String)
        /// Keys were used: when, last, by their ids.
        case noteUse([String: Int64])
    }

    /// What is made outside: the digest is of a text that the writer never sees.
    public struct NewKey: Sendable {
        public let id: String
        public let digest: [UInt8]

        public init(id: String, digest: [UInt8]) {
            self.id = id
            self.digest = digest
        }
    }

    public enum Outcome: Sendable {
        case added(APIKey)
        case revoked(APIKey)
        case noted
        case notFound
        /// There are as many links as there may be.
        case tooManyLinks
        /// The app has as many keys as it may have.
        case tooManyKeys
        /// Keys would be needed, and nobody had one to make others with.
        case lastAdminKey
    }

    /// Keys of one app. Those that ended more than `memory` ago make room.
    public static let maxKeys = 1_000
    /// Milliseconds that an expired key stays in the list: 30 days.
    static let memory: Int64 = 30 * 86_400_000

    /// Whether a word names a key of the store.
    static func isKeyID(_ word: String) -> Bool { word.hasPrefix("key_") }

    public let app: AppKey
    /// An admin key that the store knows nothing of lets the operator in, whatever becomes of the others.
    public let hasOperatorKey: Bool
    public let action: Action
    /// For the audit log; `nil`: the process itself asks, which is not noted.
    public let provenance: Provenance?
    public let idempotency: Idempotency<Outcome>?
    /// Called once on the writer's thread (or at once, when it is refused); must not wait.
    public let completion: @Sendable (WriteResult<Outcome>) -> Void

    public init(
        app: AppKey = .default, hasOperatorKey: Bool = false, action: Action, provenance: Provenance? = nil,
        idempotency: Idempotency<Outcome>? = nil,
        completion: @escaping @Sendable (WriteResult<Outcome>) -> Void
    ) {
        self.app = app
        self.hasOperatorKey = hasOperatorKey
        self.action = action
        self.provenance = provenance
        self.idempotency = idempotency
        self.completion = completion
    }
}
