import HeraldJSON
package import HeraldModel

/// A position in the log as clients write it.
package enum PositionInput: Equatable, Sendable {
    /// The end of the log.
    case now
    /// The oldest event in the log.
    case earliest
    case event(id: String)
    /// Milliseconds since 1970 UTC.
    case time(Int64)
    /// Behind this position. Clients of the HTTP API have no positions.
    case after(LogPosition)

    package static let words = "an event's id or an RFC 3339 time"

    /// `nil` if it is none of the four. An event whose id is one of the words can't be named.
    package init?(_ text: String) {
        if text == "now" {
            self = .now
        } else if text == "earliest" {
            self = .earliest
        } else if let time = Timestamp(rfc3339: text) {
            self = .time(time.milliseconds)
        } else if EventID.isKnowable(text) {
            self = .event(id: text)
        } else {
            return nil
        }
    }

    /// The position of the first event at or after this one. A reader's thread.
    /// - Throws: `HubError.invalid` if there is no such event.
    package func first(in reader: any StoreReader, app: AppKey, head: LogPosition, pointer: String) throws
        -> LogPosition
    {
        switch self {
        case .now: try Self.end(reader, head) + 1
        case .earliest: try reader.firstEvent()
        case .event(let id): try Self.sequence(of: id, reader, app, pointer)
        case .time(let time): try reader.sequence(since: time)
        case .after(let position): min(max(0, position), head) + 1
        }
    }

    /// The position of the last event at or before this one. A reader's thread.
    /// - Throws: `HubError.invalid` if there is no such event.
    package func last(in reader: any StoreReader, app: AppKey, head: LogPosition, pointer: String) throws -> LogPosition
    {
        switch self {
        case .now: try Self.end(reader, head)
        case .earliest: try reader.firstEvent()
        case .event(let id): try Self.sequence(of: id, reader, app, pointer)
        case .time(let time): try reader.lastEvent(through: time)
        case .after(let position): min(max(0, position), head)
        }
    }

    /// The end of the log, of which other processes may have appended more than memory has.
    private static func end(_ reader: any StoreReader, _ head: LogPosition) throws -> LogPosition {
        max(head, try reader.lastEvent())
    }

    private static func sequence(
        of id: String, _ reader: any StoreReader, _ app: AppKey, _ pointer: String
    ) throws -> LogPosition {
        guard let event = try reader.event(app: app, id: id) else {
            throw HubError.invalid([
                FieldError(pointer, "is no event of the log: it never was, or it is older than the log")
            ])
        }
        return event.sequence
    }
}
