package import HeraldModel

/// Encodes a list of texts as one text: each as the count of its UTF-8 bytes, a colon, and the text (`5:hello2:hi`).
/// Nothing needs escaping, and the result is readable in the shell of the database.
package enum TextList {
    package static func encode(_ texts: [String]) -> String {
        texts.map { "\($0.utf8.count):\($0)" }.joined()
    }

    package static func encode(_ pairs: [KeyValue]) -> String {
        encode(pairs.flatMap { [$0.key, $0.value] })
    }

    package static func encode(_ lists: [[UInt8]]) -> [UInt8] {
        lists.flatMap { Array("\($0.count):".utf8) + $0 }
    }

    /// The items of a list, each made from its bytes, which are valid during the call.
    ///
    /// It runs for each column of each delegate at the start: nothing is copied before `make`.
    package static func items<Item>(
        _ bytes: UnsafeRawBufferPointer, _ make: (UnsafeRawBufferPointer) throws(StoreError) -> Item
    ) throws(StoreError) -> [Item] {
        var items: [Item] = []
        var next = bytes.startIndex
        while next < bytes.endIndex {
            var count = 0
            let first = next
            while next < bytes.endIndex, case let digit = bytes[next], digit != UInt8(ascii: ":") {
                // No list is longer than what is stored, so a tenth digit is none of a count.
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit), next - first < 10 else {
                    throw unreadable
                }
                count = count * 10 + Int(digit - UInt8(ascii: "0"))
                next += 1
            }
            guard next > first, bytes.endIndex - next > count else { throw unreadable }
            let start = next + 1
            next = start + count
            items.append(try make(UnsafeRawBufferPointer(rebasing: bytes[start..<next])))
        }
        return items
    }

    /// The items of a list that is a text.
    package static func items<Item>(
        _ text: String, _ make: (UnsafeRawBufferPointer) throws(StoreError) -> Item
    ) throws(StoreError) -> [Item] {
        if text.isEmpty { return [] }
        var text = text
        return try text.withUTF8 { bytes in
            Result { () throws(StoreError) in try items(UnsafeRawBufferPointer(bytes), make) }
        }.get()
    }

    package static func pairs(_ bytes: UnsafeRawBufferPointer) throws(StoreError) -> [KeyValue] {
        try paired(items(bytes) { String(decoding: $0, as: UTF8.self) })
    }

    package static func pairs(_ text: String) throws(StoreError) -> [KeyValue] {
        try paired(items(text) { String(decoding: $0, as: UTF8.self) })
    }

    private static func paired(_ texts: [String]) throws(StoreError) -> [KeyValue] {
        guard texts.count.isMultiple(of: 2) else { throw unreadable }
        return stride(from: 0, to: texts.count, by: 2).map { KeyValue(texts[$0], texts[$0 + 1]) }
    }

    package static let unreadable = StoreError.unreadable(reason: "a list in it is malformed")
}
