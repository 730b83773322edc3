public import FoundationEssentials
import HeraldCore

/// A point in the log at which something begins or ends.
public struct EventPoint: Sendable {
    let input: PositionInput

    private init(_ input: PositionInput) { self.input = input }

    /// The end of the log: only events that are published from now on.
    public static let now = EventPoint(.now)

    /// The oldest event in the log.
    public static let earliest = EventPoint(.earliest)

    /// An event.
    /// - Parameter id: of an event in the log.
    public static func event(_ id: String) -> EventPoint { EventPoint(.event(id: id)) }

    /// The first event at this time or later, or the last one at this time or before.
    /// - Parameter date: by the clock of this machine.
    public static func time(_ date: Date) -> EventPoint { EventPoint(.time(date.milliseconds)) }

    /// Behind a position of the log.
    /// - Parameter position: of the last event that does not belong to it.
    public static func after(_ position: EventPosition) -> EventPoint { EventPoint(.after(position.rawValue)) }
}

extension Date {
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }

    /// Milliseconds since 1970 UTC, clamped to 64 bits; NaN becomes 0.
    var milliseconds: Int64 {
        // A `Date` can't represent most milliseconds exactly.
        let rounded = (timeIntervalSince1970 * 1000).rounded()
        return rounded.isNaN ? 0 : Int64(exactly: rounded) ?? (rounded < 0 ? .min : .max)
    }
}
