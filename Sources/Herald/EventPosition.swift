public import HeraldCore
public import HeraldModel

/// A position in the log of events: after an event, or before all of them.
///
/// Positions ascend in the order of the log. An app that wants to go on after a restart keeps the position of the last event
/// that it has handled: it encodes as a number.
public struct EventPosition: RawRepresentable, Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
    /// 1 for the first event, increasing without gaps; 0 before all of them.
    public let rawValue: Int64

    /// - Parameter rawValue: of a position that was kept; a negative one is ``start``.
    public init(rawValue: Int64) { self.rawValue = max(0, rawValue) }

    /// Before all events.
    public static let start = EventPosition(rawValue: 0)

    /// Whether one is before the other in the log.
    public static func < (one: EventPosition, other: EventPosition) -> Bool { one.rawValue < other.rawValue }

    /// The number.
    public var description: String { "\(rawValue)" }
}

/// An event and its position in the log.
public struct PositionedEvent: Sendable {
    /// Behind the event. Hand it to `Hub.events` to continue there.
    public let position: EventPosition
    /// The event.
    public let event: Event
}

extension EventBatch {
    /// The events with their positions.
    public var positioned: [PositionedEvent] {
        events.enumerated().map { offset, event in
            PositionedEvent(position: EventPosition(rawValue: first + LogPosition(offset)), event: event)
        }
    }
}

extension Hub {
    /// The position of the last event of the log; ``EventPosition/start`` before the first. Any thread.
    public var lastPosition: EventPosition { EventPosition(rawValue: head) }
}
