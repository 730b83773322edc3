/// The events of one app in one block of the log: 1,024 consecutive positions.
package struct AppBlock: Equatable, Sendable {
    private static let shift: LogPosition = 10

    package let app: AppKey
    /// The number of the block, from 0.
    package let block: Int64
    package var events: Int64
    /// The sum of `Event.storedBytes`.
    package var bytes: Int64

    package init(app: AppKey, block: Int64, events: Int64, bytes: Int64) {
        self.app = app
        self.block = block
        self.events = events
        self.bytes = bytes
    }

    package mutating func add(_ event: Event) {
        events += 1
        bytes += Int64(event.storedBytes)
    }

    /// The block of a position.
    package static func number(of place: LogPosition) -> Int64 { place >> shift }

    package static func places(_ block: Int64) -> ClosedRange<LogPosition> {
        (block << shift)...(((block + 1) << shift) - 1)
    }
}

extension Event {
    /// Bytes that count as stored for its app: its data, id, type, subject and attributes, the latter as stored (each
    /// string with its length before it). A store's own overhead is not counted.
    package var storedBytes: Int {
        var bytes = dataRange.count + id.utf8.count + type.utf8.count + (subject?.utf8.count ?? 0)
        for attribute in attributes {
            for count in [attribute.key.utf8.count, attribute.value.utf8.count] {
                bytes += String(count).utf8.count + 1 + count
            }
        }
        return bytes
    }
}
