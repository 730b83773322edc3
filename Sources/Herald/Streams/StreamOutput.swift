/// The port to a client that listens: where the bytes of a stream go. Belongs to the thread of the streams.
public protocol StreamOutput: AnyObject {
    /// Whether bytes wait for the client. While they do, nothing more is written.
    var isFull: Bool { get }
    /// Sends the bytes, or keeps a reference to what can't be sent yet.
    func write(_ bytes: [UInt8])
    /// The last call.
    func end()
}

/// The port to the one thread that all streams share.
public protocol StreamThread: Sendable {
    /// Runs `body` on the thread, in the order of the calls. Any thread.
    func perform(_ body: @escaping @Sendable () -> Void)
}

/// How events look to those who listen.
public struct StreamFormat: Sendable {
    /// An event; asked once for all streams.
    public let event: @Sendable (Event) -> [UInt8]
    /// The beginning of a stream.
    public let beginning: @Sendable (StreamBeginning) -> [UInt8]
    /// Events after the last one that was told are in the log no more.
    public let gap: @Sendable () -> [UInt8]

    public init(
        event: @escaping @Sendable (Event) -> [UInt8], beginning: @escaping @Sendable (StreamBeginning) -> [UInt8],
        gap: @escaping @Sendable () -> [UInt8]
    ) {
        self.event = event
        self.beginning = beginning
        self.gap = gap
    }
}

/// Where in the log a stream begins.
public enum StreamBeginning: Sendable {
    /// After this event, whether the client wants it or not; `nil`: the first of the log comes first.
    case after(eventID: String?)
    /// What the client saw last is not in the log: it begins after this event, the last one.
    case lost(eventID: String?)
}
