import HeraldModel
import HeraldRuntime

/// The response headers that Herald evaluates. A value that receives one header line after the other.
struct AnswerHeaders {
    /// The value of the header: seconds or a date.
    private(set) var retryAfter: [UInt8]?
    private(set) var control: CallbackOutcome.Control?
    private(set) var allowedOrigin: String?
    private(set) var allowedRate: Int?

    /// Maximum length of a value. The longest one that Herald knows is an origin, which is a host name.
    private static let maxValueCount = 256

    /// Whether a status line has a status below 200.
    static func isInterim(_ line: UnsafeRawBufferPointer) -> Bool {
        line.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }.first == UInt8(ascii: "1")
    }

    /// The number of codings that libcurl removes from the body because of this line. `chunked` is none.
    static func codings(in line: UnsafeRawBufferPointer) -> Int {
        guard let first = line.first else { return 0 }
        let name: StaticString
        switch first | 0x20 {
        case UInt8(ascii: "c"): name = "content-encoding:"
        case UInt8(ascii: "t"): name = "transfer-encoding:"
        default: return 0
        }
        guard begins(line, with: name) else { return 0 }
        let codings = line.dropFirst(name.utf8CodeUnitCount).split(separator: UInt8(ascii: ","))
        let names = codings.map { String(decoding: $0.trimmed(while: isSpace), as: UTF8.self).lowercased() }
        return names.filter { !$0.isEmpty && $0 != "chunked" }.count
    }

    mutating func take(_ line: UnsafeRawBufferPointer) {
        guard let first = line.first else { return }
        switch first | 0x20 {
        case UInt8(ascii: "r"):
            if let value = Self.value(of: "retry-after:", in: line) { retryAfter = value }
        case UInt8(ascii: "w"):
            if let value = Self.value(of: "webhook-delivery:", in: line) {
                control = .init(rawValue: String(decoding: value, as: UTF8.self).lowercased())
            } else if let value = Self.value(of: "webhook-allowed-origin:", in: line), !value.isEmpty {
                allowedOrigin = String(decoding: value, as: UTF8.self)
            } else if let value = Self.value(of: "webhook-allowed-rate:", in: line) {
                // An asterisk means no limit, as does a missing header.
                allowedRate = Int(decimal: String(decoding: value, as: UTF8.self)).flatMap { $0 > 0 ? $0 : nil }
            }
        default: break
        }
    }

    /// The value of the header `name`, without the surrounding spaces. `name` is in lower case and ends with the colon.
    private static func value(of name: StaticString, in line: UnsafeRawBufferPointer) -> [UInt8]? {
        guard begins(line, with: name) else { return nil }
        return Array(line.dropFirst(name.utf8CodeUnitCount).prefix(maxValueCount).trimmed(while: isSpace))
    }

    /// Line ends are spaces, too.
    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func begins(_ line: UnsafeRawBufferPointer, with name: StaticString) -> Bool {
        guard line.count >= name.utf8CodeUnitCount else { return false }
        for index in 0..<name.utf8CodeUnitCount where line[index] | 0x20 != name.utf8Start[index] | 0x20 {
            return false
        }
        return true
    }
}
