package import HeraldModel
import Synchronization

/// Counts events and attempts by app, type and slot, until the store has the counts. Any thread; the lock is held for a few
/// instructions.
package final class VolumeCounter: Sendable {
    private struct Contents {
        /// The volume that was counted last, which `current` lacks: events of one type often come one after the other, and no
        /// text is hashed for them then.
        var last: (type: String, volume: Volume)?
        var current: [AppKey: [Volume.Key: Volume]] = [:]
        /// Being written to the store.
        var leaving: [Volume] = []
        /// The types that are counted by name in this hour.
        var hour: Int64 = 0
        var types: [AppKey: Set<String>] = [:]

        /// Makes the volume of an event the last one.
        mutating func select(_ type: String, _ app: AppKey, _ time: Int64) {
            if let last, last.volume.contains(time), last.volume.app == app, last.type == type { return }
            settle()
            let name = name(of: type, app, time)
            last = (type, Volume(app: app, type: name, start: max(0, time - time % DeliveryStatistics.slot)))
        }

        /// All of `current`.
        var counted: [Volume] { current.values.flatMap(\.values) }

        mutating func settle() {
            if let volume = last?.volume { add(volume) }
            last = nil
        }

        mutating func add(_ volume: Volume) {
            let none = Volume(app: volume.app, type: volume.type, start: volume.start)
            current[volume.app, default: [:]][volume.key, default: none].add(volume)
        }

        private mutating func name(of type: String, _ app: AppKey, _ time: Int64) -> String {
            let hour = max(0, time - time % Volume.hour)
            if self.hour != hour { (self.hour, types) = (hour, [:]) }
            if types[app]?.contains(type) == true { return type }
            guard types[app]?.count ?? 0 < Volume.maxTypes else { return "" }
            types[app, default: []].insert(type)
            return type
        }
    }

    private let contents = Mutex(Contents())

    package init() {}

    /// - Parameter time: milliseconds since 1970 UTC.
    package func count(
        events: Int = 0, delivered: Int = 0, failed: Int = 0, of type: String, app: AppKey, at time: Int64
    ) {
        contents.withLock { contents in
            contents.select(type, app, time)
            contents.last?.volume.events += events
            contents.last?.volume.delivered += delivered
            contents.last?.volume.failed += failed
        }
    }

    /// The counts of all apps, or of one, that are not in the store.
    package func volumes(of app: AppKey?) -> [Volume] {
        let (leaving, current) = contents.withLock { contents -> ([Volume], [Volume]) in
            contents.settle()
            guard let app else { return (contents.leaving, contents.counted) }
            return (contents.leaving, contents.current[app].map { Array($0.values) } ?? [])
        }
        return leaving.filter { app == nil || $0.app == app } + current
    }

    /// Takes counts for the store; empty while others are being written. `written` has to follow.
    package func take() -> [Volume] {
        contents.withLock { contents in
            guard contents.leaving.isEmpty else { return [] }
            contents.settle()
            contents.leaving = contents.counted
            contents.current = [:]
            return contents.leaving
        }
    }

    /// - Parameter rest: the counts that were not written. The next write includes them.
    package func written(except rest: [Volume]) {
        contents.withLock { contents in
            for volume in rest { contents.add(volume) }
            contents.leaving = []
        }
    }
}
