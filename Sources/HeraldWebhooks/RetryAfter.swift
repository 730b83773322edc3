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

    /// Seconds since 1970 of an HTTP date, in the forms that a recipient must accept (RFC 9110, 5.6.7):
    /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
    package static func date(_ text: String) -> Int64? {
        var parts = text.split { " ,-".contains($0) }
        if parts.count == 5 { parts = [parts[0], parts[2], parts[1], parts[4], parts[3], "GMT"] }
        guard parts.count == 6, parts[5] == "GMT" else { return nil }
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let time = parts[4].split(separator: ":").map { Int(decimal: $0) ?? .max }
        guard let month = names.firstIndex(of: String(parts[2])), let day = Int(decimal: parts[1]),
            (1...31).contains(day), let number = Int(decimal: parts[3]), time.count == 3, time[0] < 24, time[1] < 60,
            time[2] <= 60
        else { return nil }
        // Two digits mean the years from 1970 on.
        let year = parts[3].utf8.count > 2 ? number : number + (number < 70 ? 2000 : 1900)
        guard (1970...9999).contains(year) else { return nil }
        let days = days(fromCivilYear: Int64(year), month: Int64(month + 1), day: Int64(day))
        return days * 86_400 + Int64(time[0] * 3600 + time[1] * 60 + time[2])
    }
}
