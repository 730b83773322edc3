/// Bytes to send: all at once or byte by byte, finite or endless. A value.
struct ReplyBody: Sendable {
    private var bytes: ArraySlice<UInt8>
    /// Follows the bytes repeatedly; empty for nothing.
    private let repeating: [UInt8]
    /// The pause before each single byte; `nil` for no pauses.
    let dripMilliseconds: Int?
    /// The number of bytes that are sent at once before the pauses start.
    private var atOnce: Int
    /// The pause before the next byte has begun and is not over.
    private(set) var isPausing = false

    init(_ bytes: [UInt8], repeating: [UInt8] = [], dripMilliseconds: Int? = nil, atOnce: Int = 0) {
        self.bytes = bytes[...]
        self.repeating = repeating
        self.dripMilliseconds = dripMilliseconds
        self.atOnce = atOnce
    }

    /// The total number of bytes; `nil` if endless.
    var count: Int? { repeating.isEmpty ? bytes.count : nil }

    var isExhausted: Bool { bytes.isEmpty && repeating.isEmpty }

    /// The next bytes, at most `room`; empty at the end, and during a pause.
    /// - Parameter pauses: gets the pause that begins after them; `resume` ends it.
    mutating func take(_ room: Int, of stream: Int32, _ pauses: inout [Pause]) -> ArraySlice<UInt8> {
        if isPausing { return [] }
        if bytes.isEmpty { bytes = repeating[...] }
        var count = min(room, bytes.count)
        if dripMilliseconds != nil {
            count = min(count, max(1, atOnce))
            atOnce = max(0, atOnce - count)
        }
        let taken = bytes.prefix(count)
        bytes = bytes.dropFirst(count)
        if atOnce == 0, !isExhausted, let dripMilliseconds {
            isPausing = true
            pauses.append(Pause(stream: stream, milliseconds: dripMilliseconds))
        }
        return taken
    }

    mutating func resume() { isPausing = false }

    /// Applies a change to the parts that are not empty.
    func mapped(_ change: ([UInt8]) -> [UInt8]) -> ReplyBody {
        ReplyBody(
            bytes.isEmpty ? [] : change(Array(bytes)), repeating: repeating.isEmpty ? [] : change(repeating),
            dripMilliseconds: dripMilliseconds, atOnce: atOnce)
    }

    /// Other bytes with the same pauses.
    func replaced(by bytes: [UInt8]) -> ReplyBody {
        ReplyBody(bytes, dripMilliseconds: dripMilliseconds, atOnce: atOnce)
    }

    /// Returns these bytes preceded by others, with the same pauses.
    func following(_ head: [UInt8]) -> ReplyBody {
        ReplyBody(head + bytes, repeating: repeating, dripMilliseconds: dripMilliseconds, atOnce: atOnce)
    }
}
