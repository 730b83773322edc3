package import HeraldModel
import Synchronization

/// The bytes that memory keeps of what clients have stored, by kind and app, and their limit.
///
/// The registry, the catalogues, the key ring and the sessions report each change, after the commit. The writer compares a request with the limit before it stores anything. Contents that are large and rarely
/// needed (schemas, examples, users, app states) are not kept: caches have limits of their own, and the store has the
/// rest. Any thread reads.
package final class KeptMemory: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case apps, delegates
        case eventTypes = "event_types"
        case keys, sessions
    }

    /// How much memory a request would keep in addition.
    package struct Growth: Sendable {
        let app: AppKey
        let bytes: Int
    }

    private struct Sums {
        var kinds: [Kind: Int] = [:]
        var apps: [AppKey: Int] = [:]
        var total = 0
    }

    private let sums = Mutex(Sums())
    /// The sum over all kinds and apps.
    package let limit: Int

    package init(limit: Int = .max) { self.limit = limit }

    /// Something is kept from now on, or no longer. Any thread.
    func change(_ kind: Kind, of app: AppKey, by bytes: Int) {
        if bytes == 0 { return }
        sums.withLock { sums in
            sums.kinds[kind, default: 0] += bytes
            sums.total += bytes
            let own = sums.apps[app, default: 0] + bytes
            sums.apps[app] = own > 0 ? own : nil
        }
    }

    /// An app may take three quarters of what the other apps leave, so that something is left for the next one. A request that
    /// needs no more memory than before is never refused.
    /// - Returns: the bytes that the app may take, if the request would exceed them.
    func limit(refusing growth: Growth) -> Int? {
        guard growth.bytes > 0 else { return nil }
        let (own, total) = sums.withLock { ($0.apps[growth.app] ?? 0, $0.total) }
        let most = max(0, limit - (total - own)) / 4 * 3
        return own + growth.bytes > most ? most : nil
    }

    package var total: Int { sums.withLock { $0.total } }

    package func bytes(of kind: Kind) -> Int { sums.withLock { $0.kinds[kind] ?? 0 } }

    package func bytes(of app: AppKey) -> Int { sums.withLock { $0.apps[app] ?? 0 } }
}

// MARK: What one object takes

extension KeptMemory {
    /// A string of up to 15 bytes has no allocation of its own.
    fileprivate static func bytes(of text: String) -> Int {
        let count = text.utf8.count
        return MemoryLayout<String>.stride + (count > 15 ? count + 48 : 0)
    }

    fileprivate static func bytes(of pairs: [KeyValue]) -> Int {
        pairs.reduce(0) { $0 + bytes(of: $1.key) + bytes(of: $1.value) }
    }
}

extension App {
    /// With its name in two dictionaries, and the counts that are kept for each app.
    var keptBytes: Int { 1_024 + settings.portal.keptBytes }
}

extension Portal {
    /// Beyond its size in the settings of an app.
    var keptBytes: Int {
        ([title, logo, color].compactMap { $0 } + frameOrigins).reduce(0) { $0 + KeptMemory.bytes(of: $1) }
    }
}

extension APIKey {
    /// With its entry, its meter and its place in the dictionary and the list of its app.
    var keptBytes: Int { 512 + KeptMemory.bytes(of: name) }
}

extension Session {
    static let keptBytes = 320
}

extension EventTypeSummary {
    var keptBytes: Int { Self.keptBytes(of: type) }

    static func keptBytes(of type: String) -> Int { 256 + 2 * KeptMemory.bytes(of: type) }
}

extension WebhookDelegate {
    /// A delegate with small settings takes 2 KiB, including its lane (`Documentation/reference/limits.md`).
    private static let baseBytes = 2_048
    /// The place of a string in the set of compiled subjects.
    private static let entryBytes = 32

    var keptBytes: Int {
        let settings = settings
        var bytes = Self.baseBytes + 2 * KeptMemory.bytes(of: settings.url)
        bytes += KeptMemory.bytes(of: settings.description)
        bytes += KeptMemory.bytes(of: settings.metadata) + KeptMemory.bytes(of: settings.headers)
        bytes += settings.events.reduce(0) { $0 + KeptMemory.bytes(of: $1.text) }
        // An exact subject shares its text with the compiled set, a prefix has a text of its own.
        bytes += settings.subjects.reduce(0) { sum, subject in
            let size = KeptMemory.bytes(of: subject)
            return sum + Self.entryBytes + (SubjectSelection.prefix(subject) == nil ? size : 2 * size)
        }
        bytes += settings.filter?.keptBytes ?? 0
        let tls = settings.tls
        bytes += [tls.authorities, tls.pin, tls.clientCertificate, tls.clientKey].reduce(0) { sum, text in
            sum + (text.map { KeptMemory.bytes(of: $0) } ?? 0)
        }
        bytes += settings.request?.keptBytes ?? 0
        return bytes + state.secrets.count * 256
    }
}

extension Recipe {
    /// The text, the compiled form that a sender keeps for its targets, and a token.
    fileprivate var keptBytes: Int { 8_192 + text.count * 8 }
}

extension ContentFilter {
    /// The text and the compiled clauses. The largest part of a clause is a number or a condition, of which the text has
    /// two bytes at least (`1,`).
    fileprivate var keptBytes: Int { 256 + text.count * 64 }
}
