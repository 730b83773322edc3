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
    private var ofApps: [AppKey: Int] = [:]

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    private static func isLarge(_ event: Event) -> Bool { event.body.count > smallBytes }

    /// How many times as many bytes as are free an app may have.
    private static let factor = 3

    /// Whether a request for the event may start. One always may. An app that has its share leaves the rest to the others.
    /// - Parameter isProven: the receiver has responded, and has not failed since. Others leave half of the room free, so that
    ///   receivers that do not respond do not delay those that do.
    func hasRoom(_ event: Event, _ sequence: LogPosition, isProven: Bool) -> Bool {
        guard Self.isLarge(event), bytes > 0, requests[Key(event, sequence)] == nil else { return true }
        return bytes + event.body.count <= (isProven ? maxBytes : maxBytes / 2)
            && ofApps[event.app] ?? 0 <= Self.factor * (maxBytes - bytes)
    }

    mutating func opened(_ event: Event, _ sequence: LogPosition) {
        guard Self.isLarge(event) else { return }
        let key = Key(event, sequence)
        if requests[key] == nil {
            bytes += event.body.count
            ofApps[event.app, default: 0] += event.body.count
        }
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
        let left = (ofApps[event.app] ?? 0) - event.body.count
        ofApps[event.app] = left > 0 ? left : nil
        return true
    }
}
