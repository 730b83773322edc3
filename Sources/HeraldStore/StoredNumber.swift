package import HeraldModel

/// The numbers of a database that Herald can have written. Damage or another program can store any number. A number out of
/// range is refused where it is read, so that no calculation with it overflows.
package enum StoredNumber {
    /// 2^53 − 1. Positions, keys, counts, sizes and times in milliseconds stay far below it.
    package static let limit: Int64 = (1 << 53) - 1

    /// A position, a key, an id or a count: from 0.
    /// - Parameter what: names the number in the error.
    package static func natural(_ value: Int64, _ what: String) throws(StoreError) -> Int64 {
        guard (0...limit).contains(value) else { throw .unreadable(what, String(value)) }
        return value
    }

    /// A number that may be negative, such as a time before 1970.
    package static func integer(_ value: Int64, _ what: String) throws(StoreError) -> Int64 {
        guard (-limit...limit).contains(value) else { throw .unreadable(what, String(value)) }
        return value
    }

    /// `9999-12-31T23:59:59.999Z`
    private static let lastTime: Int64 = 253_402_300_799_999

    /// A time of a server's clock: from 1970 to the last one that a timestamp represents.
    package static func time(_ value: Int64, _ what: String) throws(StoreError) -> Int64 {
        guard (0...lastTime).contains(value) else { throw .unreadable(what, String(value)) }
        return value
    }

    /// A figure that is only shown, such as a duration: brought into the range from 0.
    package static func figure(_ value: Int64) -> Int64 { min(max(0, value), limit) }
}

extension StoreError {
    /// A stored value that Herald cannot have written.
    package static func unreadable(_ what: String, _ found: String) -> StoreError {
        .unreadable(reason: "it holds an impossible \(what), \(found)")
    }

    /// An unreadable value with its table and row; other errors unchanged.
    /// - Parameter row: names the row in its table, if it is known.
    package func found(in table: String, row: String? = nil) -> StoreError {
        guard case .unreadable(let reason) = self else { return self }
        return .unreadable(reason: "\(reason), in the table \(table)" + (row.map { ", row \($0)" } ?? ""))
    }
}

extension ResultRow {
    /// `StoredNumber.natural`
    package func natural(_ column: Int32, _ what: String) throws(StoreError) -> Int64 {
        try StoredNumber.natural(integer(column), what)
    }

    package func optionalNatural(_ column: Int32, _ what: String) throws(StoreError) -> Int64? {
        isNull(column) ? nil : try natural(column, what)
    }

    /// Milliseconds since 1970 UTC.
    package func time(_ column: Int32) throws(StoreError) -> Int64 {
        try StoredNumber.integer(integer(column), "time")
    }

    /// `StoredNumber.figure`
    package func figure(_ column: Int32) -> Int64 { StoredNumber.figure(integer(column)) }

    package func app(_ column: Int32) throws(StoreError) -> AppKey {
        AppKey(rawValue: try natural(column, "app"))
    }
}
