import HeraldCore
import HeraldCrypto
import HeraldJSON
import HeraldModel
import Synchronization

/// The key sets of apps, each made once for a state of the app's delegates: a public key is derived from each secret. That takes
/// longer than all else in the request, which needs no access key.
///
/// Any thread; the lock guards the sets.
final class KeySets: Sendable {
    private struct KeySet {
        let version: Int
        /// When the first of its keys ends: milliseconds since 1970 UTC.
        let expiresAt: Int64
        let body: [UInt8]
    }

    private struct State {
        var sets: [AppKey: KeySet] = [:]
        var bytes = 0
    }

    private let state = Mutex(State())
    private let maxBytes: Int

    /// - Parameter maxBytes: of all sets that are kept, if there is more than one.
    init(maxBytes: Int = 1 << 20) { self.maxBytes = maxBytes }

    /// The public keys of all `v1a` signatures of an app, without duplicates, as a JSON Web Key Set (RFC 7517).
    func body(of app: AppKey, _ registry: Registry, at now: Int64) -> [UInt8] {
        // First: the set may be newer than its version, and is made again then.
        let version = registry.version(of: app)
        let kept = state.withLock { $0.sets[app] }
        if let kept, kept.version == version, now < kept.expiresAt { return kept.body }
        let secrets = registry.list(app).flatMap { $0.state.secrets.filter { $0.isValid(at: now) } }
        var seen: Set<[UInt8]> = []
        let keys = secrets.compactMap(\.secret.verifyingKey).filter { seen.insert($0.bytes).inserted }
        let body = JSONWriter.document(capacity: 256 * keys.count + 16) { set in
            set.array("keys", of: keys) { key, entry in
                for (name, value) in JSONWebKey(key).members { entry.member(name, value) }
            }
        }
        keep(KeySet(version: version, expiresAt: secrets.compactMap(\.expiresAt).min() ?? .max, body: body), of: app)
        return body
    }

    /// The number of sets that are kept.
    var count: Int { state.withLock { $0.sets.count } }

    private func keep(_ set: KeySet, of app: AppKey) {
        state.withLock { state in
            state.bytes -= state.sets.removeValue(forKey: app)?.body.count ?? 0
            // Those of other apps are made again when they are needed.
            if state.bytes + set.body.count > maxBytes { state = State() }
            state.sets[app] = set
            state.bytes += set.body.count
        }
    }
}
