package import HeraldModel
import Synchronization

/// The keys in memory, used to authorize requests. The store has the durable copy.
///
/// The writer's thread changes it, after the commit; any thread reads.
package final class KeyRing: Sendable {
    /// One key, its last use, and its rate.
    package final class Entry: Sendable {
        package let key: APIKey
        /// The scopes of the key, including implied ones, computed once.
        package let scopes: Scopes
        /// Shared by all versions of the key.
        package let meter: RateMeter
        private let used: Atomic<Int64>

        fileprivate init(_ key: APIKey, used: Int64, _ meter: RateMeter = RateMeter()) {
            self.key = key
            self.meter = meter
            scopes = Scopes(key.scopes)
            self.used = Atomic(used)
        }

        /// Milliseconds since 1970 UTC; `nil` for never.
        package var lastUsedAt: Int64? {
            let time = used.load(ordering: .relaxed)
            return time == 0 ? nil : time
        }

        /// Any thread; the cost is negligible.
        package func recordUse(at time: Int64) { used.store(time, ordering: .relaxed) }
    }

    /// Characters of an id before the public part.
    private static let prefix = "key_"

    private struct Entries {
        /// By the id without `key_`, as bytes: a request can find its key without creating a string.
        var byName: [ArraySlice<UInt8>: Entry] = [:]
        /// So a list, and a new key on the writer's thread, cost nothing for the keys of other apps.
        var ofApps: [AppKey: [Entry]] = [:]

        mutating func add(_ entry: Entry) {
            byName[KeyRing.name(entry.key.id)] = entry
            ofApps[entry.key.app, default: []].append(entry)
        }

        mutating func remove(_ id: String) -> Entry? {
            guard let old = byName.removeValue(forKey: KeyRing.name(id)) else { return nil }
            ofApps[old.key.app]?.removeAll { $0 === old }
            if ofApps[old.key.app]?.isEmpty == true { ofApps[old.key.app] = nil }
            return old
        }
    }

    private let entries: Mutex<Entries>
    private let kept: KeptMemory

    init(_ keys: [APIKey], _ kept: KeptMemory = KeptMemory()) {
        self.kept = kept
        var entries = Entries()
        for key in keys { entries.add(Entry(key, used: key.lastUsedAt ?? 0)) }
        self.entries = Mutex(entries)
        for entry in entries.byName.values { kept.change(.keys, of: entry.key.app, by: entry.key.keptBytes) }
    }

    private static func name(_ id: String) -> ArraySlice<UInt8> { Array(id.utf8)[...].dropFirst(prefix.utf8.count) }

    /// Whether there are no keys at all, not even expired ones.
    package var isEmpty: Bool { entries.withLock { $0.byName.isEmpty } }

    /// - Parameter name: the id without `key_`.
    package func entry(named name: ArraySlice<UInt8>) -> Entry? { entries.withLock { $0.byName[name] } }

    package func entry(id: String) -> Entry? {
        id.hasPrefix(Self.prefix) ? entry(named: Self.name(id)) : nil
    }

    /// The keys of an app, newest first.
    package func list(_ app: AppKey) -> [Entry] {
        let own = entries.withLock { $0.ofApps[app] } ?? []
        return own.sorted { $0.key.id > $1.key.id }
    }

    var all: [Entry] { Array(entries.withLock { $0.byName }.values) }

    /// The number of apps of which something is kept.
    var keptApps: Int { entries.withLock { $0.ofApps.count } }

    func set(_ key: APIKey) {
        let old = entries.withLock { entries in
            let old = entries.remove(key.id)
            let used = max(old?.lastUsedAt ?? 0, key.lastUsedAt ?? 0)
            entries.add(Entry(key, used: used, old?.meter ?? RateMeter()))
            return old
        }
        kept.change(.keys, of: key.app, by: key.keptBytes - (old?.key.keptBytes ?? 0))
    }

    func remove(_ id: String) {
        guard let old = entries.withLock({ $0.remove(id) }) else { return }
        kept.change(.keys, of: old.key.app, by: -old.key.keptBytes)
    }
}
