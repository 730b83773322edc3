import Synchronization

/// A summary of each described event type, for validation and lists. The store has the descriptions, which are large.
///
/// The writer's thread changes it, after the commit; any thread reads.
package final class EventTypeCatalogue: Sendable {
    private struct Contents {
        var apps: [AppKey: [String: EventTypeSummary]] = [:]
    }

    private let contents = Mutex(Contents())
    private let kept: KeptMemory

    init(_ summaries: [EventTypeSummary], _ kept: KeptMemory = KeptMemory()) {
        self.kept = kept
        for summary in summaries { set(summary) }
    }

    package func summary(_ app: AppKey, _ type: String) -> EventTypeSummary? {
        contents.withLock { $0.apps[app]?[type] }
    }

    /// All types of an app, by name.
    package func list(_ app: AppKey) -> [EventTypeSummary] {
        contents.withLock { Array(($0.apps[app] ?? [:]).values) }.sorted { $0.type < $1.type }
    }

    func count(of app: AppKey) -> Int { contents.withLock { $0.apps[app]?.count ?? 0 } }

    /// Without descriptions, events need no look-up.
    package var isEmpty: Bool { contents.withLock { $0.apps.isEmpty } }

    func set(_ summary: EventTypeSummary) {
        let old = contents.withLock { $0.apps[summary.app, default: [:]].updateValue(summary, forKey: summary.type) }
        kept.change(.eventTypes, of: summary.app, by: summary.keptBytes - (old?.keptBytes ?? 0))
    }

    func remove(_ type: String, _ app: AppKey) {
        let old = contents.withLock { contents in
            defer { if contents.apps[app]?.isEmpty == true { contents.apps[app] = nil } }
            return contents.apps[app]?.removeValue(forKey: type)
        }
        if let old { kept.change(.eventTypes, of: app, by: -old.keptBytes) }
    }
}
