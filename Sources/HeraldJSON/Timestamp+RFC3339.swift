extension Timestamp {
    /// Parses `2026-11-21T10:00:00.123456789+01:00`, according to RFC 3339, section 5.6.
    ///
    /// A fraction may have up to 12 digits; it is truncated to milliseconds. `T` and `Z` may be lower case. A leap second,
    /// which has no Unix time, is the last millisecond before midnight UTC. The result is `nil` for days that the calendar
    /// does not have, leap seconds at another time of the day or not at the end of a month, and years outside 0001–9999 in UTC.
    package init?(rfc3339 text: String) {
        var text = text
        guard let timestamp = text.withUTF8({ Timestamp(rfc3339: $0) }) else { return nil }
        self = timestamp
    }

    /// Parses UTF-8 bytes.
    package init?(rfc3339 text: UnsafeBufferPointer<UInt8>) {
        var reader = Reader(text: text)
        guard let year = reader.number(digits: 4), reader.take("-"),
            let month = reader.number(digits: 2), reader.take("-"),
            let day = reader.number(digits: 2), reader.take("T") || reader.take("t"),
            let hour = reader.number(digits: 2), reader.take(":"),
            let minute = reader.number(digits: 2), reader.take(":"),
            let second = reader.number(digits: 2),
            let fraction = reader.fraction(),
            let offset = reader.offset(),
            reader.isAtEnd
        else { return nil }
        guard year >= 1, 1...12 ~= month, day >= 1, day <= Timestamp.days(inMonth: month, of: year),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let date = HeraldJSON.days(fromCivilYear: year, month: month, day: day)
        let isLeapSecond = second == 60
        let time = ((hour * 60 + minute - offset) * 60 + min(second, 59)) * 1000 + (isLeapSecond ? 999 : fraction)
        self.init(milliseconds: date * Timestamp.millisecondsPerDay + time)
        if isLeapSecond, !endsMonth { return nil }
        guard self >= .earliest, self <= .latest else { return nil }
    }

    /// Whether it is the last millisecond of a month in UTC.
    private var endsMonth: Bool {
        let next = milliseconds + 1
        let days = next.dividedFlooring(by: Timestamp.millisecondsPerDay)
        return next == days * Timestamp.millisecondsPerDay && civilDate(fromDays: days).day == 1
    }

    static func days(inMonth month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Parses the text from left to right.
    private struct Reader {
        let text: UnsafeBufferPointer<UInt8>
        var at = 0

        var isAtEnd: Bool { at == text.count }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard at < text.count, text[at] == UInt8(ascii: character) else { return false }
            at += 1
            return true
        }

        mutating func digit() -> Int64? {
            guard at < text.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= text[at] else { return nil }
            at += 1
            return Int64(text[at - 1] - UInt8(ascii: "0"))
        }

        mutating func number(digits: Int) -> Int64? {
            var value: Int64 = 0
            for _ in 0..<digits {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        /// `.123` in milliseconds; 0 without a fraction.
        mutating func fraction() -> Int64? {
            guard take(".") else { return 0 }
            var nanoseconds: Int64 = 0
            var weight: Int64 = 100_000_000
            guard let first = digit() else { return nil }
            nanoseconds = first * weight
            while weight > 1, let digit = digit() {
                weight /= 10
                nanoseconds += digit * weight
            }
            // Up to three digits behind nanoseconds.
            var rest = weight == 1 ? 3 : 0
            while rest > 0, digit() != nil { rest -= 1 }
            return nanoseconds / 1_000_000
        }

        /// `Z` or `+01:00`, in minutes.
        mutating func offset() -> Int64? {
            if take("Z") || take("z") { return 0 }
            let isNegative = take("-")
            guard isNegative || take("+"), let hours = number(digits: 2), take(":"), let minutes = number(digits: 2),
                hours < 24, minutes < 60
            else { return nil }
            return (hours * 60 + minutes) * (isNegative ? -1 : 1)
        }
    }
}
