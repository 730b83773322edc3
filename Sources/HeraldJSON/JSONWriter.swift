/// Appends JSON to an array of bytes.
///
/// ```swift
/// var json = JSONWriter()
/// json.object {
///     $0.member("id", event.id)
///     $0.member("time", .timestamp(event.time))
///     $0.member("data", .raw(event.data))
///     $0.array("types") { for type in types { $0.element(type) } }
/// }
/// send(json.bytes)
/// ```
///
/// Commas are added automatically; members can be written only to objects, elements only to arrays. Strings are escaped
/// only where necessary. Only `bytes` is allocated.
@usableFromInline package struct JSONWriter: Sendable {
    /// The written text.
    package private(set) var bytes: [UInt8]
    /// Whether a value precedes the next one in the same container.
    private var needsComma = false

    /// - Parameter capacity: the number of bytes to reserve.
    @usableFromInline package init(capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Continues after these bytes, which are not validated.
    @usableFromInline package init(appendingTo bytes: consuming [UInt8]) { self.bytes = bytes }

    @inlinable
    package mutating func value(_ value: some JSONWritable) { value.write(to: &self) }

    /// Writes an object; the closure writes its members.
    @inlinable
    package mutating func object(_ body: (inout JSONObjectWriter) -> Void) {
        open(UInt8(ascii: "{"))
        var members = JSONObjectWriter(json: consume self)
        body(&members)
        self = members.json.handOver()
        close(UInt8(ascii: "}"))
    }

    /// Writes an array; the closure writes its elements.
    @inlinable
    package mutating func array(_ body: (inout JSONArrayWriter) -> Void) {
        open(UInt8(ascii: "["))
        var elements = JSONArrayWriter(json: consume self)
        body(&elements)
        self = elements.json.handOver()
        close(UInt8(ascii: "]"))
    }

    /// Returns the writer and keeps nothing: the bytes always have one owner, and are never copied.
    @usableFromInline
    mutating func handOver() -> JSONWriter {
        var json = JSONWriter(appendingTo: [])
        swap(&json, &self)
        return json
    }

    @usableFromInline
    mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    @usableFromInline
    mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    @usableFromInline
    mutating func key(_ key: String) {
        append(needsComma ? UInt8(ascii: ",") : nil, quoted: key, then: UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}

// MARK: - Whole documents

extension JSONWriter {
    /// The bytes of one object; the closure writes its members.
    /// - Parameter capacity: the number of bytes to reserve.
    package static func document(capacity: Int = 0, _ body: (inout JSONObjectWriter) -> Void) -> [UInt8] {
        var json = JSONWriter(capacity: capacity)
        json.object(body)
        return json.bytes
    }

    /// The bytes of one value.
    package static func document(of value: some JSONWritable) -> [UInt8] {
        var json = JSONWriter()
        json.value(value)
        return json.bytes
    }
}

// MARK: - Scalars

extension JSONWriter {
    @usableFromInline package mutating func null() {
        separate()
        bytes.append(contentsOf: [0x6e, 0x75, 0x6c, 0x6c])
    }

    @usableFromInline package mutating func bool(_ value: Bool) {
        separate()
        append(value ? "true" : "false")
    }

    @usableFromInline package mutating func string(_ value: String) {
        append(needsComma ? UInt8(ascii: ",") : nil, quoted: value)
        needsComma = true
    }

    @usableFromInline package mutating func integer(_ value: Int64) {
        separate()
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        appendDigits(value.magnitude)
    }

    @usableFromInline package mutating func integer(_ value: UInt64) {
        separate()
        appendDigits(value)
    }

    /// Writes the shortest text that reads back as the same number, without `.0`; `null` for infinity and NaN, which
    /// JSON does not have.
    @usableFromInline package mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        let text = value.description.utf8
        bytes.append(contentsOf: text.suffix(2).elementsEqual(".0".utf8) ? text.dropLast(2) : text[...])
    }

    /// Writes the time as an RFC 3339 string in UTC with milliseconds.
    package mutating func timestamp(_ value: Timestamp) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        value.append(to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes one value that is already JSON. It is not validated.
    @usableFromInline package mutating func raw(_ json: ArraySlice<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
    }

    @usableFromInline package mutating func raw(_ json: UnsafeBufferPointer<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
    }
}

// MARK: - Text

extension JSONWriter {
    private mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    private mutating func appendDigits(_ value: UInt64) {
        if value < 10 { return bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value)) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { buffer in
            var rest = value
            var first = 20
            repeat {
                first -= 1
                buffer.initializeElement(at: first, to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
                rest /= 10
            } while rest > 0
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: UnsafeBufferPointer(buffer)[first...]))
        }
    }

    /// A string in quotes, and the bytes before and after it.
    private mutating func append(_ before: UInt8? = nil, quoted string: String, then after: UInt8? = nil) {
        string.utf8.span.withUnsafeBufferPointer { text in
            guard let start = text.baseAddress, !JSONWriter.mustBeEscaped(text) else {
                if let before { bytes.append(before) }
                appendEscaping(text)
                if let after { bytes.append(after) }
                return
            }
            // The usual case in one step: for short strings, appending the parts would take longer.
            bytes.append(addingCapacity: text.count + 4) { span in
                span.withUnsafeMutableBufferPointer { buffer, count in
                    guard var end = buffer.baseAddress?.advanced(by: count) else { return }
                    func put(_ byte: UInt8) {
                        end.initialize(to: byte)
                        end += 1
                    }
                    if let before { put(before) }
                    put(UInt8(ascii: "\""))
                    end.initialize(from: start, count: text.count)
                    end += text.count
                    put(UInt8(ascii: "\""))
                    if let after { put(after) }
                    count += text.count + 2 + (before == nil ? 0 : 1) + (after == nil ? 0 : 1)
                }
            }
        }
    }

    /// Eight bytes at a time, up to the first non-ASCII byte.
    private static func mustBeEscaped(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let start = text.baseAddress else { return false }
        var index = 0
        while index + 8 <= text.count, specialBytes(loadWord(start + index)) == 0 { index += 8 }
        while index < text.count {
            if mustBeEscaped(text[index]) { return true }
            index += 1
        }
        return false
    }

    private mutating func appendEscaping(_ text: UnsafeBufferPointer<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        var start = 0
        for index in 0..<text.count where JSONWriter.mustBeEscaped(text[index]) {
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<index]))
            appendEscaped(text[index])
            start = index + 1
        }
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start...]))
        bytes.append(UInt8(ascii: "\""))
    }

    private static func mustBeEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0a: bytes.append(UInt8(ascii: "n"))
        case 0x0c: bytes.append(UInt8(ascii: "f"))
        case 0x0d: bytes.append(UInt8(ascii: "r"))
        case 0..<0x20:
            append("u00")
            bytes.append(UInt8(ascii: "0") + byte >> 4)
            let low = byte & 0xf
            bytes.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
        default: bytes.append(byte)
        }
    }
}
