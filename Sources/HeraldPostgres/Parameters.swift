import HeraldStore

/// The parameters of a statement in PostgreSQL's binary format, in one block of memory. Integers are `bigint`.
struct Parameters {
    private(set) var bytes: [UInt8] = []
    /// Where each value is; `nil` for NULL.
    private(set) var places: [Range<Int>?] = []

    // MARK: Single values

    mutating func add(_ values: any ColumnConvertible...) {
        for value in values { add(value.column) }
    }

    mutating func add(_ value: ColumnValue) {
        switch value {
        case .null: places.append(nil)
        case .integer(let value): put { $0.write(value) }
        case .real(let value): put { $0.write(Int64(bitPattern: value.bitPattern)) }
        case .text(let text): put { $0.write(text) }
        case .blob(let bytes): put { $0.bytes += bytes }
        }
    }

    private mutating func put(_ write: (inout Parameters) -> Void) {
        let start = bytes.count
        write(&self)
        places.append(start..<bytes.count)
    }

    // MARK: Arrays

    /// `bigint[]`.
    mutating func add<Items: Collection>(_ items: Items, _ value: (Items.Element) -> Int64?) {
        array(items, of: 20) { item, parameters in
            guard let value = value(item) else { return false }
            parameters.write(value)
            return true
        }
    }

    /// `double precision[]`.
    mutating func addReals<Items: Collection>(_ items: Items, _ value: (Items.Element) -> Double?) {
        array(items, of: 701) { item, parameters in
            guard let value = value(item) else { return false }
            parameters.write(Int64(bitPattern: value.bitPattern))
            return true
        }
    }

    /// `text[]`.
    mutating func add<Items: Collection>(_ items: Items, _ text: (Items.Element) -> String?) {
        array(items, of: 25) { item, parameters in
            guard let text = text(item) else { return false }
            parameters.write(text)
            return true
        }
    }

    /// `bytea[]`.
    mutating func add<Items: Collection, Bytes: Collection<UInt8>>(_ items: Items, _ bytes: (Items.Element) -> Bytes?) {
        array(items, of: 17) { item, parameters in
            guard let bytes = bytes(item) else { return false }
            parameters.bytes += bytes
            return true
        }
    }

    /// An array with one dimension, which is sent empty when it has nothing but NULLs: `unnest` fills it up beside longer ones.
    /// (The format is that of `array_send`: the number of dimensions, whether there are NULLs, the type, then for each
    /// dimension its length and first index, then each item after its length, -1 for NULL.)
    /// - Parameter write: returns `false` for NULL.
    private mutating func array<Items: Collection>(
        _ items: Items, of type: Int32, _ write: (Items.Element, inout Parameters) -> Bool
    ) {
        put { parameters in
            let mark = parameters.bytes.count
            for number in [1, 0, type, Int32(items.count), 1] { parameters.write(number) }
            var nulls = 0
            for item in items {
                let start = parameters.bytes.count
                parameters.write(-1 as Int32)
                if write(item, &parameters) {
                    parameters.set(Int32(clamping: parameters.bytes.count - start - 4), at: start)
                } else {
                    nulls += 1
                }
            }
            if nulls == items.count {
                parameters.set(0, at: mark)
                parameters.bytes.removeLast(parameters.bytes.count - mark - 12)
            } else if nulls > 0 {
                parameters.set(1, at: mark + 4)
            }
        }
    }

    // MARK: Bytes

    private mutating func write<Number: FixedWidthInteger>(_ number: Number) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func set(_ number: Int32, at place: Int) {
        withUnsafeBytes(of: number.bigEndian) { bytes.replaceSubrange(place..<place + 4, with: $0) }
    }

    private mutating func write(_ text: String) { StoredText.write(text, to: &bytes) }
}

/// Texts as the server takes them: PostgreSQL has no U+0000, which JSON has. U+10FFFF, a noncharacter, is the escape: it
/// stands before a digit 0 for U+0000, and before itself for itself.
enum StoredText {
    private static let escape: [UInt8] = [0xf4, 0x8f, 0xbf, 0xbf]

    static func write(_ text: String, to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        guard bytes[start...].contains(where: { $0 == 0 || $0 == escape[0] }) else { return }
        let plain = Array(bytes[start...])
        bytes.removeSubrange(start...)
        var rest = plain[...]
        while let byte = rest.first {
            if byte == 0 {
                bytes += escape + [UInt8(ascii: "0")]
                rest = rest.dropFirst()
            } else if rest.starts(with: escape) {
                bytes += escape + escape
                rest = rest.dropFirst(escape.count)
            } else {
                bytes.append(byte)
                rest = rest.dropFirst()
            }
        }
    }

    static func isEscaped(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.contains(escape[0]) }

    static func read(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let byte = rest.first {
            guard rest.starts(with: escape) else {
                plain.append(byte)
                rest = rest.dropFirst()
                continue
            }
            rest = rest.dropFirst(escape.count)
            if rest.first == UInt8(ascii: "0") {
                plain.append(0)
                rest = rest.dropFirst()
            } else {
                plain += escape
                // A program that writes with SQL writes it once.
                if rest.starts(with: escape) { rest = rest.dropFirst(escape.count) }
            }
        }
        return plain
    }
}
