/// Bytes to be sent: all at once or drop by drop, with or without an end. A value.
struct ReplyBody: Sendable {
    private var bytes: ArraySlice<UInt8>
    /// What follows the bytes, again and again; empty: nothing.
    private let repeating: [UInt8]
    /// The pause before each single byte; `nil`: no pauses.
    let dripMilliseconds: Int?
    /// How many bytes go at once before the dripping begins.
    private var atOnce: Int

    init(_ bytes: [UInt8], repeating: [UInt8] = [], dripMilliseconds: Int? = nil, atOnce: Int = 0) {
        self.bytes = bytes[...]
        self.repeating = repeating
        self.dripMilliseconds = dripMilliseconds
        self.atOnce = atOnce
    }

    /// How many bytes there are in all; `nil`: without end.
    var count: Int? { repeating.isEmpty ? bytes.count : nil }

    var isExhausted: Bool { bytes.isEmpty && repeating.isEmpty }

    /// Whether a pause comes before the next byte.
    var isDripping: Bool { dripMilliseconds != nil && atOnce == 0 && !isExhausted }

    /// The next bytes, `room` at most: none when it is exhausted.
    mutating func take(_ room: Int) -> ArraySlice<UInt8> {
        if bytes.isEmpty { bytes = repeating[...] }
        var count = min(room, bytes.count)
        if dripMilliseconds != nil {
            count = min(count, max(1, atOnce))
            atOnce = max(0, atOnce - count)
        }
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count)
    }

    /// The parts that are not empty, changed.
    func mapped(_ change: ([UInt8]) -> [UInt8]) -> ReplyBody {
        ReplyBody(
            bytes.isEmpty ? [] : change(Array(bytes)), repeating: repeating.isEmpty ? [] : change(repeating),
            dripMilliseconds: dripMilliseconds, atOnce: atOnce)
    }

    /// Others instead, which are as slow as these.
    func replaced(by bytes: [UInt8]) -> ReplyBody {
        ReplyBody(bytes, dripMilliseconds: dripMilliseconds, atOnce: atOnce)
    }

    /// The same bytes with others before them, which are as slow as these.
    func following(_ head: [UInt8]) -> ReplyBody {
        ReplyBody(head + bytes, repeating: repeating, dripMilliseconds: dripMilliseconds, atOnce: atOnce)
    }
}
