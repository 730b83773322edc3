package import HeraldModel
import Synchronization

/// The value of one column of one row.
package enum ColumnValue: Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

/// A value that can be a parameter of a statement.
package protocol ColumnConvertible {
    var column: ColumnValue { get }
}

extension ColumnValue: ColumnConvertible {
    package var column: ColumnValue { self }
}

extension Int64: ColumnConvertible {
    package var column: ColumnValue { .integer(self) }
}

extension Int: ColumnConvertible {
    package var column: ColumnValue { .integer(Int64(self)) }
}

extension AppKey: ColumnConvertible {
    package var column: ColumnValue { .integer(rawValue) }
}

extension String: ColumnConvertible {
    package var column: ColumnValue { .text(self) }
}

extension Array: ColumnConvertible where Element == UInt8 {
    package var column: ColumnValue { .blob(self) }
}

extension Optional: ColumnConvertible where Wrapped: ColumnConvertible {
    package var column: ColumnValue { map { $0.column } ?? .null }
}

/// How a value is written into a column and read from it.
package struct ColumnType<Value>: Sendable {
    let write: @Sendable (Value) -> ColumnValue
    /// Throws if Herald cannot have written the value; `column` is used in the message.
    let read: @Sendable (_ value: ColumnValue, _ column: String) throws(StoreError) -> Value
}

/// One column of a table whose rows are values of the type `Row`: its name and type, its value for a row, whether it is
/// sealed, and what remains of it in a wiped row. A column belongs to one table.
package struct Column<Row, Value>: TableColumn {
    package let name: String
    package let place = ColumnPlace()
    private let type: ColumnType<Value>
    private let get: @Sendable (Row) -> Value
    package let isFixed: Bool
    package let wiped: ColumnValue?
    package let isSealed: Bool

    /// - Parameters:
    ///   - isFixed: the column is written with a new row and never updated.
    ///   - wiped: the value in a wiped row; `nil` to keep the value.
    package init(
        _ name: String, _ type: ColumnType<Value>, isFixed: Bool = false, wiped: ColumnValue? = nil,
        isSealed: Bool = false, _ get: @escaping @Sendable (Row) -> Value
    ) {
        self.name = name
        self.type = type
        self.get = get
        self.isFixed = isFixed
        self.wiped = wiped
        self.isSealed = isSealed
    }

    package func value(of row: Row) -> ColumnValue { type.write(get(row)) }

    package func read(_ value: ColumnValue) throws(StoreError) -> Value { try type.read(value, name) }
}

/// Where a column is in the list of its table. The table sets it once, so that reading a row searches for no names.
package final class ColumnPlace: Sendable {
    /// -1 if it is in no list.
    private let stored = Atomic<Int32>(-1)

    package var index: Int32 {
        get { stored.load(ordering: .relaxed) }
        set { stored.store(newValue, ordering: .relaxed) }
    }
}

/// A column of any type, for the column list of a table.
package protocol TableColumn<Row>: Sendable {
    associatedtype Row

    var name: String { get }
    var place: ColumnPlace { get }
    var isFixed: Bool { get }
    var wiped: ColumnValue? { get }
    var isSealed: Bool { get }
    func value(of row: Row) -> ColumnValue
}

// MARK: Types

extension ColumnType<Int64> {
    package static let integer = ColumnType(
        write: { .integer($0) },
        read: { value, column throws(StoreError) in try StoredNumber.integer(value.integer ?? 0, column) })

    /// A key, a position, or the number of a version.
    package static let natural = ColumnType(
        write: { .integer($0) },
        read: { value, column throws(StoreError) in try StoredNumber.natural(value.integer ?? 0, column) })

    /// A time of a server's clock, in milliseconds since 1970 UTC.
    package static let time = ColumnType(
        write: { .integer($0) },
        read: { value, column throws(StoreError) in try StoredNumber.time(value.integer ?? 0, column) })
}

extension ColumnType<Int64?> {
    package static let optionalTime = optional(ColumnType<Int64>.time) { $0.integer != nil }
    package static let optionalInteger = optional(ColumnType<Int64>.integer) { $0.integer != nil }
}

extension ColumnType<Int> {
    package static let int = ColumnType(
        write: { .integer(Int64($0)) },
        read: { value, column throws(StoreError) in Int(try StoredNumber.integer(value.integer ?? 0, column)) })
}

extension ColumnType<Bool> {
    /// 1 for `true`, and 0.
    package static let flag = ColumnType(
        write: { .integer($0 ? 1 : 0) }, read: { value, _ in value.integer ?? 0 != 0 })
}

extension ColumnType<Int?> {
    package static let optionalInt = optional(ColumnType<Int>.int) { $0.integer != nil }
}

extension ColumnType<Double?> {
    package static let optionalReal = ColumnType(
        write: { $0.map { .real($0) } ?? .null }, read: { value, _ in value.real })
}

extension ColumnType<String> {
    package static let text = ColumnType(write: { .text($0) }, read: { value, _ in value.text ?? "" })
}

extension ColumnType<String?> {
    package static let optionalText = ColumnType(
        write: { $0.map { .text($0) } ?? .null }, read: { value, _ in value.text })
}

extension ColumnType<[UInt8]> {
    package static let blob = ColumnType(write: { .blob($0) }, read: { value, _ in value.blob ?? [] })
}

extension ColumnType<[UInt8]?> {
    package static let optionalBlob = ColumnType(
        write: { $0.map { .blob($0) } ?? .null }, read: { value, _ in value.blob })
}

extension ColumnType<[[UInt8]]> {
    /// Encoded by `TextList`.
    package static let blobs = ColumnType(
        write: { .blob(TextList.encode($0)) },
        read: { value, _ throws(StoreError) in
            try (value.blob ?? []).withUnsafeBytes { bytes in
                Result { () throws(StoreError) in try TextList.items(bytes) { Array($0) } }
            }.get()
        })
}

extension ColumnType<[String]> {
    /// Encoded by `TextList`.
    package static let texts = list({ $0 }, { $0 })
}

extension ColumnType<[KeyValue]> {
    /// Encoded by `TextList`.
    package static let pairs = ColumnType(
        write: { .text(TextList.encode($0)) },
        read: { value, _ throws(StoreError) in try TextList.pairs(value.text ?? "") })
}

extension ColumnType<[KeyValue]?> {
    package static let optionalPairs = optional(ColumnType<[KeyValue]>.pairs) { $0.text != nil }
}

extension ColumnType where Value: RawRepresentable<String> & Sendable {
    /// One of a fixed set of texts.
    package static var name: ColumnType {
        ColumnType(
            write: { .text($0.rawValue) },
            read: { value, column throws(StoreError) in
                try known(Value(rawValue: value.text ?? ""), column, value.text ?? "")
            })
    }
}

extension ColumnType where Value: RawRepresentable<Int> & Sendable {
    /// One of a fixed set of numbers.
    package static var number: ColumnType {
        ColumnType(
            write: { .integer(Int64($0.rawValue)) },
            read: { value, column throws(StoreError) in
                let number = Int(try StoredNumber.integer(value.integer ?? 0, column))
                return try known(Value(rawValue: number), column, String(number))
            })
    }
}

extension ColumnType {
    /// NULL for `nil`.
    /// - Parameter isThere: whether a stored value is one of `type`; any other reads as `nil`.
    static func optional<Wrapped>(
        _ type: ColumnType<Wrapped>, _ isThere: @escaping @Sendable (ColumnValue) -> Bool
    ) -> ColumnType where Value == Wrapped? {
        ColumnType(
            write: { $0.map { type.write($0) } ?? .null },
            read: { value, column throws(StoreError) in isThere(value) ? try type.read(value, column) : nil })
    }

    /// Texts that represent values, encoded by `TextList`.
    package static func list<Element>(
        _ write: @escaping @Sendable (Element) -> String, _ read: @escaping @Sendable (String) -> Element?
    ) -> ColumnType where Value == [Element] {
        ColumnType(
            write: { .text(TextList.encode($0.map(write))) },
            read: { value, column throws(StoreError) in
                try TextList.items(value.text ?? "") { item throws(StoreError) in
                    let text = String(decoding: item, as: UTF8.self)
                    return try known(read(text), column, text)
                }
            })
    }
}

extension ColumnValue {
    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    package var real: Double? { if case .real(let value) = self { value } else { nil } }
    package var text: String? { if case .text(let value) = self { value } else { nil } }
    package var blob: [UInt8]? { if case .blob(let value) = self { value } else { nil } }

    /// Its form in reports.
    package var shown: String {
        switch self {
        case .null: "NULL"
        case .integer(let number): String(number)
        case .real(let number): String(number)
        case .text(let text): text
        case .blob(let bytes): "(\(bytes.count) bytes)"
        }
    }
}

extension ColumnSealer {
    /// Sealed text is stored in Base64. NULL is never sealed.
    package func seal(_ value: ColumnValue, _ place: AssociatedData) throws(StoreError) -> ColumnValue {
        switch value {
        case .text(let text): .text(try seal(text: text, place))
        case .blob(let bytes): .blob(try seal(bytes, place))
        case .null, .integer, .real: value
        }
    }

    package func open(_ value: ColumnValue, _ place: AssociatedData) throws(StoreError) -> ColumnValue {
        switch value {
        case .text(let text): .text(String(decoding: try open(text: text, place), as: UTF8.self))
        case .blob(let bytes): .blob(try open(bytes, place))
        case .null, .integer, .real: value
        }
    }
}
