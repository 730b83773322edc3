/// The events and attempts of one type of an app in one slot of `DeliveryStatistics.slot`, or in one hour.
package struct Volume: Equatable, Sendable {
    /// Milliseconds.
    package static let hour: Int64 = 3_600_000
    /// How long they are kept, in milliseconds: 31 days, and the hour in which they begin.
    package static let lifetime: Int64 = 31 * 86_400_000 + hour
    /// The most types of an app that are counted by name in one hour, by one process. The others have the type "".
    package static let maxTypes = 500

    package let app: AppKey
    /// Empty for the sum of several types.
    package let type: String
    /// When the slot begins: milliseconds since 1970 UTC, a multiple of `DeliveryStatistics.slot`. Like those of statistics, old slots
    /// are added to the ones in which their hours began.
    package let start: Int64
    /// Events that were published.
    package var events = 0
    /// Attempts that succeeded, and that failed.
    package var delivered = 0
    package var failed = 0

    package init(app: AppKey, type: String, start: Int64, events: Int = 0, delivered: Int = 0, failed: Int = 0) {
        self.app = app
        self.type = type
        self.start = start
        self.events = events
        self.delivered = delivered
        self.failed = failed
    }

    /// Whether a time is in its slot; milliseconds since 1970 UTC.
    package func contains(_ time: Int64) -> Bool { time >= start && time - start < DeliveryStatistics.slot }

    package mutating func add(_ other: Volume) {
        events += other.events
        delivered += other.delivered
        failed += other.failed
    }

    /// The volume of the slot in which the hour began.
    package var ofHour: Volume {
        Volume(
            app: app, type: type, start: start - start % Self.hour, events: events, delivered: delivered,
            failed: failed)
    }

    package var key: Key { Key(app: app, start: start, type: type) }

    package struct Key: Hashable, Sendable {
        package let app: AppKey
        package let start: Int64
        package let type: String
    }
}

/// A selection of volumes.
package struct VolumeQuery: Sendable {
    /// `nil`: the sum of all apps.
    package var app: AppKey?
    /// `nil`: the sum of all types. Only with an app.
    package var type: String?
    /// The begin of the first and the last slot.
    package var slots: ClosedRange<Int64>
    package init(_ slots: ClosedRange<Int64>) { self.slots = slots }
}
