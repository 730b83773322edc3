import HeraldModel

/// The large events of the open requests, bounded by their bytes: a request keeps its event in memory until its receiver
/// has responded. Small events belong to what a request takes anyway.
///
/// Confined to one delivery loop.
struct OpenEvents {
    /// Events with a larger body are counted.
    static let smallBytes = 8 << 10

    private enum Key: Hashable {
        case logged(LogPosition)
        /// An event of a call outside the lanes, which has no position.
        case called(ObjectIdentifier)

        init(_ event: Event, _ sequence: LogPosition) {
            self = sequence > 0 ? .logged(sequence) : .called(ObjectIdentifier(event))
        }
    }

    private let maxBytes: Int
    /// The number of open requests of each event. A request keeps its event, so that no other event gets its key.
    private var requests: [Key: Int] = [:]
    private(set) var bytes = 0

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    private static func isLarge(_ event: Event) -> Bool { event.body.count > smallBytes }

    /// Whether a request for the event may start. One always may.
    /// - Parameter isProven: the receiver has responded, and has not failed since. Others leave half of the room free, so that
    ///   receivers that do not respond do not delay those that do.
    func hasRoom(_ event: Event, _ sequence: LogPosition, isProven: Bool) -> Bool {
        guard Self.isLarge(event), bytes > 0, requests[Key(event, sequence)] == nil else { return true }
        return bytes + event.body.count <= (isProven ? maxBytes : maxBytes / 2)
    }

    mutating func opened(_ event: Event, _ sequence: LogPosition) {
        guard Self.isLarge(event) else { return }
        let key = Key(event, sequence)
        if requests[key] == nil { bytes += event.body.count }
        requests[key, default: 0] += 1
    }

    /// - Returns: whether this has made room.
    mutating func closed(_ event: Event, _ sequence: LogPosition) -> Bool {
        let key = Key(event, sequence)
        guard Self.isLarge(event), let count = requests[key] else { return false }
        if count > 1 {
            requests[key] = count - 1
            return false
        }
        requests[key] = nil
        bytes -= event.body.count
        return true
    }
}
