internal import HeraldRuntime
internal import Synchronization

/// How the server looks after a stream by itself.
public struct StreamRules: Sendable {
    /// Sent when nothing else was for `heartbeatSeconds`, so that nobody on the way takes the connection for a dead one.
    public var heartbeat: [UInt8] = []
    public var heartbeatSeconds = 15
    /// How long the client may take to read what was written at once; then it is cut off.
    public var stallSeconds = 30
    public init() {}
}

/// A stream that is about to begin. It holds a place among the streams, and gives it back if it never begins.
final class StreamStart: Sendable {
    let headers: [Response.Field]
    let rules: StreamRules
    let delegate: any ResponseStreamDelegate
    private let loop: StreamLoop
    private let isOpened = Atomic(false)

    /// `nil`: there are too many.
    init?(
        _ loop: StreamLoop, _ headers: [Response.Field], _ rules: StreamRules, _ delegate: any ResponseStreamDelegate
    ) {
        guard loop.takePlace() else { return nil }
        self.loop = loop
        self.headers = headers
        self.rules = rules
        self.delegate = delegate
    }

    deinit {
        if !isOpened.load(ordering: .relaxed) { loop.givePlaceBack() }
    }

    /// From here on the place is the stream's.
    func open() { isOpened.store(true, ordering: .relaxed) }

    /// The head as it goes over the network.
    func headBytes(wall: Int64) -> [UInt8] { Response.streamHead(headers, wall: wall) }
}
