/// A point in time in milliseconds since 1970 UTC, and its text by RFC 3339: `2026-11-21T10:00:00.000Z`.
package struct Timestamp: Hashable, Sendable, Comparable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// `0001-01-01T00:00:00.000Z`
    package static let earliest = Timestamp(milliseconds: -62_135_596_800_000)
    /// `9999-12-31T23:59:59.999Z`
    package static let latest = Timestamp(milliseconds: 253_402_300_799_999)

    package static func < (one: Timestamp, two: Timestamp) -> Bool { one.milliseconds < two.milliseconds }

    static let millisecondsPerDay: Int64 = 86_400_000
}

extension Timestamp: CustomStringConvertible {
    /// The RFC 3339 text in UTC, with milliseconds. Years outside 0001–9999 are clamped.
    package var description: String { withRFC3339 { String(decoding: $0, as: UTF8.self) } }

    /// Appends the RFC 3339 text in UTC, 24 bytes.
    package func append(to bytes: inout [UInt8]) { withRFC3339 { bytes.append(contentsOf: $0) } }

    private func withRFC3339<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        let clamped = min(max(self, .earliest), .latest).milliseconds
        let days = clamped.dividedFlooring(by: Timestamp.millisecondsPerDay)
        let time = clamped - days * Timestamp.millisecondsPerDay
        let (year, month, day) = civilDate(fromDays: days)
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 24) { buffer in
            // Two digits at a time, in 32 bits: each event is written with its time twice.
            @inline(__always)
            func put(_ value: UInt32, at index: Int, then separator: UInt8) {
                buffer.initializeElement(at: index, to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / 10))
                buffer.initializeElement(at: index + 1, to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10))
                buffer.initializeElement(at: index + 2, to: separator)
            }
            let year = UInt32(truncatingIfNeeded: year)
            let time = UInt32(truncatingIfNeeded: time)
            // Each separator is overwritten when two digits follow directly.
            put(year / 100, at: 0, then: 0)
            put(year % 100, at: 2, then: UInt8(ascii: "-"))
            put(UInt32(truncatingIfNeeded: month), at: 5, then: UInt8(ascii: "-"))
            put(UInt32(truncatingIfNeeded: day), at: 8, then: UInt8(ascii: "T"))
            put(time / 3_600_000, at: 11, then: UInt8(ascii: ":"))
            put(time / 60_000 % 60, at: 14, then: UInt8(ascii: ":"))
            put(time / 1000 % 60, at: 17, then: UInt8(ascii: "."))
            put(time % 1000 / 10, at: 20, then: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: time % 10))
            buffer.initializeElement(at: 23, to: UInt8(ascii: "Z"))
            return body(UnsafeBufferPointer(buffer))
        }
    }
}

// The two conversions are "civil_from_days" and "days_from_civil" of Howard Hinnant, "chrono-compatible low-level date
// algorithms", https://howardhinnant.github.io/date_algorithms.html. Their years start in March, so that the leap day
// is the last of its year; an era is the 400 years, 146,097 days, after which the calendar repeats.

/// The proleptic Gregorian date of a day, counted from 1970-01-01.
func civilDate(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = shifted.dividedFlooring(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
}

/// The number of days from 1970-01-01 to a date of the proleptic Gregorian calendar.
package func days(fromCivilYear year: Int64, month: Int64, day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted.dividedFlooring(by: 400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
}

extension Int64 {
    /// Division that rounds down, also for negative numbers. The divisor is positive.
    func dividedFlooring(by divisor: Int64) -> Int64 {
        self / divisor - (self % divisor < 0 ? 1 : 0)
    }
}
