import Crypto
import Herald
import Runtime
import Synchronization

/// Links that open the dashboard for one app: random tokens, good for anyone who has one until they end. In memory: a
/// restart ends them. Any thread; the lock is held for a look-up.
final class PortalLinks: Sendable {
    private struct Link {
        let app: AppKey
        /// Milliseconds since 1970 UTC.
        let expiresAt: Int64
    }

    /// Seconds that a link may last, and does when nothing else is said.
    static let seconds = 60...604_800
    static let standardSeconds = 3_600
    static let limit = 10_000

    /// By the SHA-256 of the token.
    private let links = Mutex<[[UInt8]: Link]>([:])
    private let clock: Clock

    init(clock: Clock) { self.clock = clock }

    /// - Returns: its token; `nil`: there are as many as there may be.
    func make(for app: AppKey, until end: Int64) throws(CryptoError) -> String? {
        let token = Base64.encodeURLSafe(try randomBytes(32))
        let now = clock.wall()
        let isTaken = links.withLock { links in
            if links.count >= Self.limit { links = links.filter { $0.value.expiresAt > now } }
            guard links.count < Self.limit else { return false }
            links[SHA256.hash(Array(token.utf8))] = Link(app: app, expiresAt: end)
            return true
        }
        return isTaken ? token : nil
    }

    /// Whom a token lets in.
    func principal(_ token: String) -> Principal? {
        let digest = SHA256.hash(Array(token.utf8))
        guard let link = links.withLock({ $0[digest] }), clock.wall() < link.expiresAt else { return nil }
        return Principal(
            identity: .portalLink, app: link.app, scopes: Scopes([.manage]), expiresAt: link.expiresAt)
    }
}
