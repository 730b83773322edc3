package import HeraldModel

/// Events and attempts over time, in intervals of five minutes, an hour or a day (UTC).
package struct Activity: Sendable {
    package enum Interval: String, Sendable, CaseIterable {
        case slot = "5min"
        case hour, day

        /// Milliseconds.
        package var length: Int64 {
            switch self {
            case .slot: DeliveryStatistics.slot
            case .hour: Volume.hour
            case .day: 24 * Volume.hour
            }
        }

        /// The number of intervals without another choice.
        var usual: Int64 {
            switch self {
            case .slot: 12
            case .hour: 24
            case .day: 30
            }
        }
    }

    package enum Scope: Sendable {
        case server
        case app(AppKey)
        case type(String, AppKey)
        case delegate(WebhookDelegate)
    }

    package struct Point: Equatable, Sendable {
        /// When the interval begins: milliseconds since 1970 UTC.
        package let start: Int64
        /// Published events; 0 for a delegate.
        package var events = 0
        /// Attempts that succeeded, and that failed.
        package var delivered = 0
        package var failed = 0
    }

    /// The maximum number of points: a month of hours.
    package static let maxPoints: Int64 = 31 * 24 + 1

    package let interval: Interval
    /// Without gaps, the oldest first.
    package private(set) var points: [Point]

    /// The slots of a period, by their begin.
    /// - Parameters:
    ///   - since: milliseconds since 1970 UTC; `nil`: an hour, 24 hours or 30 days before the end.
    ///   - until: `nil`: now.
    /// - Throws: `HubError.invalid` if there are too many intervals, or none.
    package static func slots(
        _ interval: Interval, since: Int64?, until: Int64?, now: Int64
    ) throws(HubError) -> ClosedRange<Int64> {
        let length = interval.length
        let last = max(0, (until ?? now) / length)
        let first = max(0, since.map { $0 / length } ?? last - interval.usual + 1)
        if last < first { throw .invalid([FieldError("/until", "is before since")]) }
        guard last - first < maxPoints else {
            throw .invalid([FieldError("/since", "is too early: a response has at most \(maxPoints) intervals")])
        }
        return first * length...last * length + length - DeliveryStatistics.slot
    }

    /// A reader's thread.
    package init(
        _ scope: Scope, _ interval: Interval, _ slots: ClosedRange<Int64>, _ hub: Hub, _ reader: any StoreReader
    ) throws {
        self.interval = interval
        let length = interval.length
        points = stride(from: slots.lowerBound, through: slots.upperBound, by: Int64.Stride(length)).map {
            Point(start: $0)
        }
        for volume in try Self.volumes(scope, slots, hub, reader) {
            let index = (volume.start - slots.lowerBound) / length
            guard slots.lowerBound <= volume.start, points.indices.contains(Int(index)) else { continue }
            points[Int(index)].events += volume.events
            points[Int(index)].delivered += volume.delivered
            points[Int(index)].failed += volume.failed
        }
    }

    private static func volumes(
        _ scope: Scope, _ slots: ClosedRange<Int64>, _ hub: Hub, _ reader: any StoreReader
    ) throws -> [Volume] {
        var query = VolumeQuery(slots)
        switch scope {
        case .server: break
        case .app(let app): query.app = app
        case .type(let type, let app): (query.app, query.type) = (app, type)
        case .delegate(let delegate):
            let stored = try reader.statistics(delegate.key, since: slots.lowerBound)
            return (stored + hub.currentStatistics(delegate.key)).map {
                Volume(app: delegate.app, type: "", start: $0.start, delivered: $0.delivered, failed: $0.failed)
            }
        }
        let current = hub.currentVolumes(of: query.app).filter { volume in
            query.type.map { $0 == volume.type } ?? true
        }
        return try reader.volumes(query) + current
    }

    /// The volumes of an app by type, those with most events first. A reader's thread.
    package static func byType(
        _ app: AppKey, _ slots: ClosedRange<Int64>, limit: Int, _ hub: Hub, _ reader: any StoreReader
    ) throws -> [Volume] {
        var sums: [String: Volume] = [:]
        // Those that the store lacks may move a type up.
        let current = hub.currentVolumes(of: app).filter { slots.contains($0.start) }
        let stored = try reader.volumesByType(app, in: slots, limit: Volume.maxTypes + limit)
        for volume in stored + current {
            sums[volume.type, default: Volume(app: app, type: volume.type, start: slots.lowerBound)].add(volume)
        }
        let sorted = sums.values.sorted {
            ($0.events, $0.delivered, $1.type) > ($1.events, $1.delivered, $0.type)
        }
        return Array(sorted.prefix(limit))
    }
}
