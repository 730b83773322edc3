/// The live streams that ask for the same: what is sent to one of them is sent to all, the same bytes.
///
/// Owned by the streams' thread.
struct StreamChannel {
    private(set) var members: [EventStream] = []

    mutating func add(_ stream: EventStream) {
        stream.index = members.count
        members.append(stream)
    }

    mutating func remove(_ stream: EventStream) {
        let last = members.removeLast()
        guard last !== stream else { return }
        last.index = stream.index
        members[stream.index] = last
    }
}

/// Events as bytes, cut into pieces that are written at once. A piece of one event is that event's own array.
struct StreamPieces {
    struct Piece {
        var bytes: [UInt8]
        /// The last event that is in it, or that nobody wants right behind it.
        var through: Sequence
    }

    /// A client that can't take more than this at once reads it from the log when it can.
    static let maxBytes = 64 << 10
    private(set) var pieces: [Piece] = []

    /// - Parameters:
    ///   - limit: how many pieces; the rest of the batch is left out.
    ///   - frame: the bytes of the event at a place of the batch.
    init(_ batch: EventBatch, _ interest: StreamInterest, limit: Int = .max, frame: (Int) -> [UInt8]) {
        for (index, event) in batch.events.enumerated() {
            let sequence = batch.first + Sequence(index)
            if interest.wants(event) {
                let bytes = frame(index)
                if let last = pieces.last, last.bytes.count + bytes.count <= Self.maxBytes {
                    pieces[pieces.count - 1].bytes.append(contentsOf: bytes)
                } else if pieces.count < limit {
                    pieces.append(Piece(bytes: bytes, through: sequence))
                } else {
                    return
                }
            }
            if !pieces.isEmpty { pieces[pieces.count - 1].through = sequence }
        }
    }
}
