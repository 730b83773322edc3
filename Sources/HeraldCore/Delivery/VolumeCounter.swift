import Synchronization

/// Counts events and attempts by app, type and slot, until the store has the counts. Any thread; the lock is held for a few
/// instructions.
package final class VolumeCounter: Sendable {
    private struct Contents {
        var current: [Volume.Key: Volume] = [:]
        /// Being written to the store.
        var leaving: [Volume] = []
        /// The types that are counted by name in this hour.
        var hour: Int64 = 0
        var types: [AppKey: Set<String>] = [:]
    }

    private let contents = Mutex(Contents())

    package init() {}

    /// - Parameter time: milliseconds since 1970 UTC.
    package func count(
        events: Int = 0, delivered: Int = 0, failed: Int = 0, of type: String, app: AppKey, at time: Int64
    ) {
        contents.withLock { contents in
            let hour = max(0, time - time % Volume.hour)
            if contents.hour != hour { (contents.hour, contents.types) = (hour, [:]) }
            var name = type
            if contents.types[app]?.contains(type) != true {
                if contents.types[app]?.count ?? 0 < Volume.maxTypes {
                    contents.types[app, default: []].insert(type)
                } else {
                    name = ""
                }
            }
            let start = max(0, time - time % DeliveryStatistics.slot)
            let key = Volume.Key(app: app, start: start, type: name)
            contents.current[key, default: Volume(app: app, type: name, start: start)]
                .add(Volume(app: app, type: name, start: start, events: events, delivered: delivered, failed: failed))
        }
    }

    /// The counts that are not in the store.
    package var all: [Volume] { contents.withLock { $0.leaving + $0.current.values } }

    /// Takes counts for the store; empty while others are being written. `written` has to follow.
    func take() -> [Volume] {
        contents.withLock { contents in
            guard contents.leaving.isEmpty else { return [] }
            contents.leaving = Array(contents.current.values)
            contents.current = [:]
            return contents.leaving
        }
    }

    /// - Parameter succeeded: if not, the next write includes them.
    func written(_ succeeded: Bool) {
        contents.withLock { contents in
            if !succeeded {
                for volume in contents.leaving {
                    contents.current[
                        volume.key, default: Volume(app: volume.app, type: volume.type, start: volume.start)
                    ].add(volume)
                }
            }
            contents.leaving = []
        }
    }
}
