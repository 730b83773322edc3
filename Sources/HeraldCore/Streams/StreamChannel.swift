import HeraldDelivery
import HeraldModel

/// The live streams with the same filter: all of them get the same bytes.
///
/// Owned by the streams' thread.
struct StreamChannel<Interest: StreamInterest> {
    private(set) var members: [LiveStream<Interest>] = []

    mutating func add(_ stream: LiveStream<Interest>) {
        stream.index = members.count
        members.append(stream)
    }

    mutating func remove(_ stream: LiveStream<Interest>) {
        let last = members.removeLast()
        guard last !== stream else { return }
        last.index = stream.index
        members[stream.index] = last
    }
}

/// Serialized entries of a log, cut into pieces that are written at once. A piece with a single entry is that entry's
/// own array.
struct StreamPieces<Page: LogPage> {
    struct Piece {
        var bytes: [UInt8]
        /// The position of its last entry, or of entries directly after it that do not match.
        var through: LogPosition
    }

    /// A client that can't accept more at once reads it from the log later.
    static var maxBytes: Int { 64 << 10 }
    private(set) var pieces: [Piece] = []
    /// The last entry that was examined, or the end of the page if all were.
    private(set) var through: LogPosition
    /// The steps of the content filter.
    private(set) var steps = 0
    /// The filter has used its steps before the end of the page.
    private(set) var isCutOff = false

    /// - Parameters:
    ///   - limit: the maximum number of pieces; the rest of the page is omitted.
    ///   - maxSteps: the steps of the content filter after which no further entry is examined.
    ///   - frame: serializes the entry with this index.
    init<Interest: StreamInterest>(
        _ page: Page, _ interest: Interest, limit: Int = .max, maxSteps: Int, frame: (Int) -> [UInt8]
    ) where Interest.Entry == Page.Entry {
        through = page.after
        for (index, entry) in page.entries.enumerated() {
            if interest.hasFilter, steps >= maxSteps {
                isCutOff = true
                return
            }
            if interest.wants(entry, &steps) {
                let bytes = frame(index)
                if let last = pieces.last, last.bytes.count + bytes.count <= Self.maxBytes {
                    pieces[pieces.count - 1].bytes.append(contentsOf: bytes)
                } else if pieces.count < limit {
                    pieces.append(Piece(bytes: bytes, through: page.place(index)))
                } else {
                    return
                }
            }
            if !pieces.isEmpty { pieces[pieces.count - 1].through = page.place(index) }
            through = page.place(index)
        }
        through = page.last
        if !pieces.isEmpty { pieces[pieces.count - 1].through = page.last }
    }
}
