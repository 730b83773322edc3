import HeraldRuntime

/// The event that is published repeatedly: the same bytes except for the time, which is overwritten in place.
struct BenchEvent: Sendable {
    let body: [UInt8]
    let timePlace: Range<Int>

    static let minBytes = 160

    private static let timeField = Array("\"sent_ns\":".utf8)
    private static let timeDigits = 20

    /// - Parameters:
    ///   - subject: unique for each run.
    ///   - size: bytes of the body; at least `minBytes`.
    init(type: String, subject: String, size: Int) {
        let blank = String(repeating: " ", count: Self.timeDigits - 1) + "0"
        let head = "{\"type\":\"\(type)\",\"subject\":\"\(subject)\",\"data\":{\"sent_ns\":\(blank),\"padding\":\""
        let tail = "\"}}"
        let padding = max(0, size - head.utf8.count - tail.utf8.count)
        body = Array((head + String(repeating: "x", count: padding) + tail).utf8)
        let start = Self.place(in: body) ?? 0
        timePlace = start..<(start + Self.timeDigits)
    }

    /// Writes a time in nanoseconds, padded with spaces, which JSON allows before a number.
    static func write(_ time: Int64, into body: inout [UInt8]?, at place: Range<Int>) {
        var left = time
        for index in place.reversed() {
            body?[index] = left > 0 || index == place.upperBound - 1 ? UInt8(ascii: "0") + UInt8(left % 10) : 32
            left /= 10
        }
    }

    /// The time in a received event; `nil` if there is none.
    static func time(in body: [UInt8]) -> Int64? {
        guard let start = place(in: body) else { return nil }
        let digits = body[start...].drop { $0 == 32 }.prefix { (48..<58).contains($0) }
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    /// The index after the field's name.
    private static func place(in body: [UInt8]) -> Int? {
        body.place(of: timeField)?.upperBound
    }
}
