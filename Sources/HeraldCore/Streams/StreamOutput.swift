package import HeraldModel

/// The port to a stream's client. Belongs to the thread of the streams.
package protocol StreamOutput: AnyObject {
    /// Whether bytes wait for the client. While they do, nothing is written.
    var isFull: Bool { get }
    /// Sends the bytes, or keeps a reference to the unsent ones.
    func write(_ bytes: [UInt8])
    /// The last call.
    func end()
}

/// The port to the one thread that all streams share.
package protocol StreamThread: Sendable {
    /// Runs `body` on the thread, in the order of the calls. Any thread.
    func perform(_ body: @escaping @Sendable () -> Void)
}

/// The format of a log's streams.
package struct StreamFormat<Entry>: Sendable {
    /// Serializes an entry; called once for all streams.
    package let entry: @Sendable (Entry) -> [UInt8]
    /// The start of a stream.
    package let beginning: @Sendable (StreamBeginning, AppKey) -> [UInt8]
    /// Entries after the last one that was sent are no longer in the log.
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

/// The position where a stream starts.
package enum StreamBeginning: Sendable {
    /// After this position, whatever app its entry belongs to.
    case after(StreamPlace)
    /// The log does not contain the client's last entry: it starts after this position, the end.
    case lost(StreamPlace)
}
