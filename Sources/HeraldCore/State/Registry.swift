package import Delegation
package import HeraldModel
import HeraldRuntime
import Synchronization

/// The registered webhooks in memory, for lists and look-ups. The store has the durable copy.
///
/// The writer's thread changes it, after the commit; any thread reads.
package final class Registry: Sendable {
    private struct Entries {
        /// By app, in ascending order of their ids, which is that of their registration. So a request costs nothing for the
        /// delegates of other apps.
        var ofApps: [AppKey: [WebhookDelegate]] = [:]
        var byKey: [DelegateKey: WebhookDelegate] = [:]
        var byURL: [Address: Owners] = [:]
        /// By `uid` instead of the URL, where one is set. Many may have the same URL.
        var byUID: [Address: Set<DelegateKey>] = [:]
        /// The number of changes of all delegates.
        var changes = 0
        /// The number of the last change of each app that has delegates.
        var versions: [AppKey: Int] = [:]
        /// The pull delegates.
        var pulls: Set<DelegateKey> = []

        /// Where the delegate with this id is among those of its app, or the first one behind it.
        func place(of id: String, _ app: AppKey) -> (index: Int, isTaken: Bool) {
            let own = ofApps[app] ?? []
            let index = own.firstIndex(ascending: { $0.id >= id })
            return (index, index < own.count && own[index].id == id)
        }

        /// Adds a delegate that is new among those of its app.
        mutating func add(_ delegate: WebhookDelegate) {
            if delegate.settings.kind == .pull { pulls.insert(delegate.key) }
            set(delegate)
        }

        /// The delegates of an app have changed.
        mutating func changed(_ app: AppKey) {
            changes += 1
            let isEmpty = ofApps[app]?.isEmpty ?? true
            if isEmpty { ofApps[app] = nil }
            versions[app] = isEmpty ? nil : changes
        }

        mutating func set(_ delegate: WebhookDelegate) {
            changed(delegate.app)
            byKey[delegate.key] = delegate
            let address = Address(delegate)
            byURL[address] = byURL[address]?.with(delegate) ?? .one(delegate)
            if let uid = Address(uidOf: delegate) { byUID[uid, default: []].insert(delegate.key) }
        }

        mutating func forgetAddress(of delegate: WebhookDelegate) {
            let address = Address(delegate)
            byURL[address] = byURL[address]?.without(delegate)
            guard let uid = Address(uidOf: delegate) else { return }
            byUID[uid]?.remove(delegate.key)
            if byUID[uid]?.isEmpty == true { byUID[uid] = nil }
        }
    }

    private struct Address: Hashable {
        let app: AppKey
        let url: String

        init(app: AppKey, url: String) { (self.app, self.url) = (app, url) }

        init(_ delegate: WebhookDelegate) { self.init(app: delegate.app, url: delegate.settings.url) }

        init?(uidOf delegate: WebhookDelegate) {
            guard let uid = delegate.settings.uid else { return nil }
            self.init(app: delegate.app, url: uid)
        }
    }

    /// The delegates with one URL, in no order. Most URLs have one, and its reference is all that is kept then: eight bytes.
    private enum Owners {
        case one(WebhookDelegate)
        case several([WebhookDelegate])

        var all: [WebhookDelegate] {
            switch self {
            case .one(let delegate): [delegate]
            case .several(let delegates): delegates
            }
        }

        /// - Parameter delegate: replaces the one with its key.
        func with(_ delegate: WebhookDelegate) -> Owners {
            without(delegate).map { .several($0.all + [delegate]) } ?? .one(delegate)
        }

        func without(_ delegate: WebhookDelegate) -> Owners? {
            let others = all.filter { $0.key != delegate.key }
            return others.count > 1 ? .several(others) : others.first.map { .one($0) }
        }
    }

    /// A change of the registry.
    package enum Change: Sendable {
        case registered(WebhookDelegate)
        case changed(from: WebhookDelegate, to: WebhookDelegate)
        case removed(WebhookDelegate)
    }

    private let entries: Mutex<Entries>
    private let kept: KeptMemory
    /// Called for each change, once it is durable.
    package let delegates = MulticastDelegate<any RegistryDelegate>()

    init(_ delegates: [WebhookDelegate], _ kept: KeptMemory = KeptMemory()) {
        self.kept = kept
        var entries = Entries()
        entries.byKey.reserveCapacity(delegates.count)
        entries.byURL.reserveCapacity(delegates.count)
        for delegate in delegates.sorted(by: { $0.id < $1.id }) {
            entries.ofApps[delegate.app, default: []].append(delegate)
            entries.add(delegate)
        }
        self.entries = Mutex(entries)
        for delegate in delegates { kept.change(.delegates, of: delegate.app, by: delegate.keptBytes) }
    }

    package func delegate(_ app: AppKey, id: String) -> WebhookDelegate? {
        entries.withLock { entries in
            let (index, isTaken) = entries.place(of: id, app)
            return isTaken ? entries.ofApps[app]?[index] : nil
        }
    }

    package func delegate(key: DelegateKey) -> WebhookDelegate? { entries.withLock { $0.byKey[key] } }

    /// The webhooks of an app with one URL, oldest first.
    func delegates(_ app: AppKey, url: String) -> [WebhookDelegate] {
        let found = entries.withLock { $0.byURL[Address(app: app, url: url)]?.all ?? [] }
        return found.count > 1 ? found.sorted { $0.id < $1.id } : found
    }

    /// The delegate of an app with this `uid`; the newest one, because other APIs set the metadata, too.
    package func delegate(_ app: AppKey, uid: String) -> WebhookDelegate? {
        entries.withLock { entries in
            entries.byUID[Address(app: app, url: uid)]?.max().flatMap { entries.byKey[$0] }
        }
    }

    package var hasPulls: Bool { entries.withLock { !$0.pulls.isEmpty } }

    /// The pull delegates of all apps, in no order.
    package var pulls: [WebhookDelegate] {
        entries.withLock { entries in entries.pulls.compactMap { entries.byKey[$0] } }
    }

    package var count: Int { entries.withLock { $0.byKey.count } }

    /// Differs after each change of the app's delegates.
    package func version(of app: AppKey) -> Int { entries.withLock { $0.versions[app] ?? $0.changes } }

    func count(of app: AppKey) -> Int { entries.withLock { $0.ofApps[app]?.count ?? 0 } }

    /// The number of apps of which something is kept.
    var keptApps: Int { entries.withLock { max($0.ofApps.count, $0.versions.count) } }

    /// All of all apps; the apps in no order.
    package var all: [WebhookDelegate] { entries.withLock { $0.ofApps }.values.flatMap { $0 } }

    /// The webhooks of an app, newest first.
    /// - Parameters:
    ///   - before: only those with a smaller id.
    ///   - limit: the maximum number.
    package func list(
        _ app: AppKey, before: String? = nil, limit: Int = .max,
        where accepts: (WebhookDelegate) -> Bool = { _ in true }
    ) -> [WebhookDelegate] {
        // A copy of references; the filter runs outside the lock.
        let older = entries.withLock { entries -> ArraySlice<WebhookDelegate> in
            let own = entries.ofApps[app] ?? []
            return own[..<(before.map { id in own.firstIndex(ascending: { $0.id >= id }) } ?? own.count)]
        }
        var result: [WebhookDelegate] = []
        for delegate in older.reversed() {
            if result.count >= limit { break }
            if accepts(delegate) { result.append(delegate) }
        }
        return result
    }

    func set(_ delegate: WebhookDelegate) {
        let old = entries.withLock { entries in
            let old = entries.byKey[delegate.key]
            if let old { entries.forgetAddress(of: old) }
            let (index, isTaken) = entries.place(of: delegate.id, delegate.app)
            if isTaken {
                entries.ofApps[delegate.app]?[index] = delegate
                entries.set(delegate)
            } else {
                entries.ofApps[delegate.app, default: []].insert(delegate, at: index)
                entries.add(delegate)
            }
            return old
        }
        kept.change(.delegates, of: delegate.app, by: delegate.keptBytes - (old?.keptBytes ?? 0))
        notify(old.map { .changed(from: $0, to: delegate) } ?? .registered(delegate))
    }

    func remove(_ delegate: WebhookDelegate) {
        let old = entries.withLock { entries in
            let old = entries.byKey.removeValue(forKey: delegate.key)
            entries.pulls.remove(delegate.key)
            if let old { entries.forgetAddress(of: old) }
            let (index, isTaken) = entries.place(of: delegate.id, delegate.app)
            guard isTaken else { return old }
            entries.ofApps[delegate.app]?.remove(at: index)
            entries.changed(delegate.app)
            return old
        }
        if let old { kept.change(.delegates, of: old.app, by: -old.keptBytes) }
        notify(.removed(delegate))
    }

    private func notify(_ change: Change) { delegates.invokeDelegates { $0.registryChanged(change) } }
}

/// An observer of the registry: webhooks that were registered, changed or removed.
///
/// Called on the writer's thread, when the change is durable and the registry has it. It must return soon and never
/// wait.
package protocol RegistryDelegate: AnyObject, Sendable {
    func registryChanged(_ change: Registry.Change)
}
