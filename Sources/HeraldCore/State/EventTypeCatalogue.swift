package import HeraldModel
import Synchronization

/// A summary of each described event type, for validation and lists. The store has the descriptions, which are large.
///
/// The writer's thread changes it, after the commit; any thread reads.
package final class EventTypeCatalogue: Sendable {
    /// By app and type.
    private let summaries = Mutex<[AppKey: [String: EventTypeSummary]]>([:])
    private let kept: KeptMemory

    init(_ summaries: [EventTypeSummary], _ kept: KeptMemory = KeptMemory()) {
        self.kept = kept
        for summary in summaries { set(summary) }
    }

    package func summary(_ app: AppKey, _ type: String) -> EventTypeSummary? {
        summaries.withLock { $0[app]?[type] }
    }

    /// All types of an app, by name.
    package func list(_ app: AppKey) -> [EventTypeSummary] {
        summaries.withLock { Array(($0[app] ?? [:]).values) }.sorted { $0.type < $1.type }
    }

    func count(of app: AppKey) -> Int { summaries.withLock { $0[app]?.count ?? 0 } }

    /// Without descriptions, events need no look-up.
    package var isEmpty: Bool { summaries.withLock { $0.isEmpty } }

    func set(_ summary: EventTypeSummary) {
        let old = summaries.withLock { $0[summary.app, default: [:]].updateValue(summary, forKey: summary.type) }
        kept.change(.eventTypes, of: summary.app, by: summary.keptBytes - (old?.keptBytes ?? 0))
    }

    func remove(_ type: String, _ app: AppKey) {
        let old = summaries.withLock { summaries in
            defer { if summaries[app]?.isEmpty == true { summaries[app] = nil } }
            return summaries[app]?.removeValue(forKey: type)
        }
        if let old { kept.change(.eventTypes, of: app, by: -old.keptBytes) }
    }
}
