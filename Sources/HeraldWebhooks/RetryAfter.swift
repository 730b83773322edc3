import HeraldJSON

/// The value of a `Retry-After` header.
package enum RetryAfter {
    static let most = 86_400

    /// Seconds from `now` (seconds since 1970), at most a day; `nil` if the text is neither a whole number nor an HTTP
    /// date. 0 for a date in the past.
    static func parse(_ text: some Collection<UInt8>, now: Int64) -> Int? {
        let text = String(decoding: text, as: UTF8.self)
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            // A number that overflows is more than a day.
            return min(Int(decimal: text) ?? most, most)
        }
        guard let time = date(text) else { return nil }
        return Int(min(max(time - now, 0), Int64(most)))
    }

    /// Seconds since 1970 of an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`: the only form that current HTTP senders
    /// may generate.
    package static func date(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), text.hasSuffix(" GMT") else { return nil }
        guard [4, 7, 11, 16].allSatisfy({ bytes[$0] == UInt8(ascii: " ") }),
            [19, 22].allSatisfy({ bytes[$0] == UInt8(ascii: ":") })
        else { return nil }
        func number(_ range: Range<Int>) -> Int? { Int(decimal: String(decoding: bytes[range], as: UTF8.self)) }
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard let month = names.firstIndex(of: String(decoding: bytes[8..<11], as: UTF8.self)),
            let day = number(5..<7), (1...31).contains(day), let year = number(12..<16), year >= 1970,
            let hour = number(17..<19), hour < 24, let minute = number(20..<22), minute < 60,
            let second = number(23..<25), second <= 60
        else { return nil }
        let days = days(fromCivilYear: Int64(year), month: Int64(month + 1), day: Int64(day))
        return days * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    }
}
