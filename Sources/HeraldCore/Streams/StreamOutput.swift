/// The port to a client that listens: where the bytes of a stream go. Belongs to the thread of the streams.
package protocol StreamOutput: AnyObject {
    /// Whether bytes wait for the client. While they do, nothing more is written.
    var isFull: Bool { get }
    /// Sends the bytes, or keeps a reference to what can't be sent yet.
    func write(_ bytes: [UInt8])
    /// The last call.
    func end()
}

/// The port to the one thread that all streams share.
package protocol StreamThread: Sendable {
    /// Runs `body` on the thread, in the order of the calls. Any thread.
    func perform(_ body: @escaping @Sendable () -> Void)
}

/// How a log looks to those who listen.
package struct StreamFormat<Entry>: Sendable {
    /// An entry; asked once for all streams.
    package let entry: @Sendable (Entry) -> [UInt8]
    /// The beginning of a stream.
    package let beginning: @Sendable (StreamBeginning, AppKey) -> [UInt8]
    /// Entries after the last one that was told are in the log no more.
    package let gap: @Sendable () -> [UInt8]

    package init(
        entry: @escaping @Sendable (Entry) -> [UInt8],
        beginning: @escaping @Sendable (StreamBeginning, AppKey) -> [UInt8],
        gap: @escaping @Sendable () -> [UInt8]
    ) {
        self.entry = entry
        self.beginning = beginning
        self.gap = gap
    }
}

/// Where in the log a stream begins.
package enum StreamBeginning: Sendable {
    /// After this place, whoever the entry there belongs to.
    case after(StreamPlace)
    /// What the client saw last is not in the log: it begins after this place, the end.
    case lost(StreamPlace)
}
