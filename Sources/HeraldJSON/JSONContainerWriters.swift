/// Writes the members of an object. Made by ``JSONWriter/object(_:)``.
public struct JSONObjectWriter: Sendable {
    @usableFromInline var json: JSONWriter

    @usableFromInline init(json: consuming JSONWriter) { self.json = json }

    /// What was written, of which nothing is kept here: the bytes have one owner at any time, and are never copied.
    @usableFromInline mutating func finish() -> JSONWriter {
        var json = JSONWriter(appendingTo: [])
        swap(&json, &self.json)
        return json
    }

    /// A member. Keys are not compared: don't write one twice.
    @inlinable
    public mutating func member(_ key: String, _ value: some JSONWritable) {
        json.key(key)
        value.write(to: &json)
    }

    /// A member, or nothing when there is no value. (``member(_:_:)`` writes `null` for it.)
    @inlinable
    public mutating func member(_ key: String, ifPresent value: (some JSONWritable)?) {
        if let value { member(key, value) }
    }

    /// A member that is an object.
    @inlinable
    public mutating func object(_ key: String, _ body: (inout JSONObjectWriter) -> Void) {
        json.key(key)
        json.object(body)
    }

    /// A member that is an array.
    @inlinable
    public mutating func array(_ key: String, _ body: (inout JSONArrayWriter) -> Void) {
        json.key(key)
        json.array(body)
    }
}

/// Writes the elements of an array. Made by ``JSONWriter/array(_:)``.
public struct JSONArrayWriter: Sendable {
    @usableFromInline var json: JSONWriter

    @usableFromInline init(json: consuming JSONWriter) { self.json = json }

    /// What was written, of which nothing is kept here: the bytes have one owner at any time, and are never copied.
    @usableFromInline mutating func finish() -> JSONWriter {
        var json = JSONWriter(appendingTo: [])
        swap(&json, &self.json)
        return json
    }

    /// An element.
    @inlinable
    public mutating func element(_ value: some JSONWritable) { value.write(to: &json) }

    /// An element that is an object.
    @inlinable
    public mutating func object(_ body: (inout JSONObjectWriter) -> Void) { json.object(body) }

    /// An element that is an array.
    @inlinable
    public mutating func array(_ body: (inout JSONArrayWriter) -> Void) { json.array(body) }
}
