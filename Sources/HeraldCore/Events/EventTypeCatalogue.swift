import Synchronization

/// The described event types in memory, for lists and validation. The store has the durable copy.
///
/// The writer's thread changes it, after the commit; any thread reads.
package final class EventTypeCatalogue: Sendable {
    private struct Name: Hashable {
        let app: AppKey
        let type: String
    }

    private let records: Mutex<[Name: EventTypeRecord]>

    init(_ records: [EventTypeRecord]) {
        self.records = Mutex(
            Dictionary(records.map { (Name(app: $0.app, type: $0.type), $0) }, uniquingKeysWith: { $1 }))
    }

    package func record(_ app: AppKey, _ type: String) -> EventTypeRecord? {
        records.withLock { $0[Name(app: app, type: type)] }
    }

    /// All types of an app, by name.
    package func list(_ app: AppKey) -> [EventTypeRecord] {
        records.withLock { Array($0.values) }.filter { $0.app == app }.sorted { $0.type < $1.type }
    }

    /// Without descriptions, events need no look-up.
    package var isEmpty: Bool { records.withLock { $0.isEmpty } }

    /// The writer's thread.
    func set(_ record: EventTypeRecord) {
        records.withLock { $0[Name(app: record.app, type: record.type)] = record }
    }

    /// The writer's thread.
    func remove(_ type: String, _ app: AppKey) {
        records.withLock { $0[Name(app: app, type: type)] = nil }
    }
}
