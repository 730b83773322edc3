package import HeraldCore

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

    /// `nil` if the bytes are not such a list.
    package static func decode(_ bytes: UnsafeRawBufferPointer) -> [Slice<UnsafeRawBufferPointer>]? {
        var items: [Slice<UnsafeRawBufferPointer>] = []
        var next = bytes.startIndex
        while next < bytes.endIndex {
            guard let colon = bytes[next...].firstIndex(of: UInt8(ascii: ":")),
                let count = Int(String(decoding: bytes[next..<colon], as: UTF8.self)),
                (0...bytes.endIndex - colon - 1).contains(count)
            else { return nil }
            let start = colon + 1
            next = start + count
            items.append(bytes[start..<next])
        }
        return items
    }

    package static func items(_ bytes: [UInt8]) throws(StoreError) -> [[UInt8]] {
        guard let items = bytes.withUnsafeBytes({ decode($0)?.map(Array.init) }) else { throw unreadable }
        return items
    }

    package static func pairs(_ bytes: [UInt8]) throws(StoreError) -> [KeyValue] {
        let texts = try items(bytes).map { String(decoding: $0, as: UTF8.self) }
        guard texts.count.isMultiple(of: 2) else { throw unreadable }
        return stride(from: 0, to: texts.count, by: 2).map { KeyValue(texts[$0], texts[$0 + 1]) }
    }

    package static let unreadable = StoreError.unreadable(reason: "a list in it is malformed")
}
