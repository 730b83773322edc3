package import HeraldModel
import Synchronization

/// The apps in memory. The store has the durable copy.
///
/// The writer's thread changes it, after the commit; any thread reads.
package final class AppCatalogue: Sendable {
    private struct Entries {
        var byKey: [AppKey: App] = [:]
        /// By id and by name.
        var byWord: [String: AppKey] = [:]
        /// For the next app: larger than any key used before.
        var next: AppKey

        /// Another app may have the name by now: the changes of other processes come with the rows as they are at last.
        mutating func forgetName(of app: App) {
            if byWord[app.settings.name] == app.key { byWord[app.settings.name] = nil }
        }
    }

    private let entries: Mutex<Entries>
    private let kept: KeptMemory
    private let isLimiting = Atomic(false)
    private let isLimitingBytes = Atomic(false)

    /// - Parameter next: the key for the next app.
    init(_ apps: [App], next: AppKey, _ kept: KeptMemory = KeptMemory()) {
        self.kept = kept
        var entries = Entries(next: next)
        for app in [App.default] + apps { Self.insert(app, &entries) }
        self.entries = Mutex(entries)
        recordLimits(entries)
        // Only an operator adds apps, so all count for the operator's app.
        for app in entries.byKey.values { kept.change(.apps, of: .default, by: app.keptBytes) }
    }

    /// Whether any app has a limit of events per second: otherwise events need no look-up.
    var limitsEvents: Bool { isLimiting.load(ordering: .relaxed) }

    /// Whether any app has a limit of stored bytes.
    var limitsBytes: Bool { isLimitingBytes.load(ordering: .relaxed) }

    private func recordLimits(_ entries: Entries) {
        isLimiting.store(
            entries.byKey.values.contains { $0.settings.eventsPerSecond != nil }, ordering: .relaxed)
        isLimitingBytes.store(
            entries.byKey.values.contains { $0.settings.maxStoredBytes != nil }, ordering: .relaxed)
    }

    package subscript(key: AppKey) -> App? { entries.withLock { $0.byKey[key] } }

    func contains(_ key: AppKey) -> Bool { key == .default || entries.withLock { $0.byKey[key] != nil } }

    /// - Parameter word: an id or a name.
    package func find(_ word: String) -> App? {
        entries.withLock { entries in entries.byWord[word].flatMap { entries.byKey[$0] } }
    }

    /// Newest first.
    package var all: [App] { entries.withLock { Array($0.byKey.values) }.sorted { $0.id > $1.id } }

    var count: Int { entries.withLock { $0.byKey.count } }

    var nextKey: AppKey { entries.withLock { $0.next } }

    func set(_ app: App) {
        let old = entries.withLock { entries in
            let old = entries.byKey[app.key]
            Self.insert(app, &entries)
            recordLimits(entries)
            return old
        }
        kept.change(.apps, of: .default, by: app.keptBytes - (old?.keptBytes ?? 0))
    }

    /// Another process has used this key. The writer's thread.
    func reserve(_ key: AppKey) {
        entries.withLock { $0.next = AppKey(rawValue: max($0.next.rawValue, key.rawValue + 1)) }
    }

    func remove(_ app: App) {
        let old = entries.withLock { entries in
            entries.byWord[app.id] = nil
            entries.forgetName(of: app)
            return entries.byKey.removeValue(forKey: app.key)
        }
        if let old { kept.change(.apps, of: .default, by: -old.keptBytes) }
    }

    private static func insert(_ app: App, _ entries: inout Entries) {
        if let old = entries.byKey.updateValue(app, forKey: app.key) { entries.forgetName(of: old) }
        entries.byWord[app.id] = app.key
        entries.byWord[app.settings.name] = app.key
        entries.next = AppKey(rawValue: max(entries.next.rawValue, app.key.rawValue + 1))
    }
}
