/// The live streams that ask for the same: what is sent to one of them is sent to all, the same bytes.
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

/// Entries of a log as bytes, cut into pieces that are written at once. A piece of one entry is that entry's own array.
struct StreamPieces<Page: LogPage> {
    struct Piece {
        var bytes: [UInt8]
        /// The last entry that is in it, or that nobody wants right behind it.
        var through: LogPosition
    }

    /// A client that can't take more than this at once reads it from the log when it can.
    static var maxBytes: Int { 64 << 10 }
    private(set) var pieces: [Piece] = []

    /// - Parameters:
    ///   - limit: how many pieces; the rest of the page is left out.
    ///   - frame: the bytes of the entry with an index.
    init<Interest: StreamInterest>(_ page: Page, _ interest: Interest, limit: Int = .max, frame: (Int) -> [UInt8])
    where Interest.Entry == Page.Entry {
        for (index, entry) in page.entries.enumerated() {
            if interest.wants(entry) {
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
        }
        if !pieces.isEmpty { pieces[pieces.count - 1].through = page.last }
    }
}
