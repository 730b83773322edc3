internal import HeraldRuntime
internal import Synchronization

/// The rules that the server applies to a stream.
package struct StreamRules: Sendable {
    /// Sent when nothing else was sent for `heartbeatSeconds`, so that proxies do not close the connection.
    package var heartbeat: [UInt8] = []
    package var heartbeatSeconds = 15
    /// How long the client may take to read written data; then it is disconnected.
    package var stallSeconds = 30
    package init() {}
}

/// A stream that is about to start. It holds a place among the streams, and returns it if it never starts.
final class StreamStart: Sendable {
    let headers: [Response.Field]
    let rules: StreamRules
    let delegate: any ResponseStreamDelegate
    private let loop: StreamLoop
    let holder: StreamHolder
    private let isOpened = Atomic(false)

    /// `nil` if there are too many, in all, of this client or of this group.
    init?(
        _ loop: StreamLoop, _ holder: StreamHolder, _ headers: [Response.Field], _ rules: StreamRules,
        _ delegate: any ResponseStreamDelegate
    ) {
        guard loop.takePlace(for: holder) else { return nil }
        self.loop = loop
        self.holder = holder
        self.headers = headers
        self.rules = rules
        self.delegate = delegate
    }

    deinit {
        if !isOpened.load(ordering: .relaxed) { loop.givePlaceBack(of: holder) }
    }

    /// From here on the place belongs to the stream.
    func open() { isOpened.store(true, ordering: .relaxed) }
}
