/// Writes the members of an object. Made by ``JSONWriter/object(_:)``.
@usableFromInline package struct JSONObjectWriter: Sendable {
    @usableFromInline var json: JSONWriter

    @usableFromInline init(json: consuming JSONWriter) { self.json = json }

    /// Writes a member. Keys are not compared: do not write one twice.
    @inlinable
    package mutating func member(_ key: String, _ value: some JSONWritable) {
        json.key(key)
        value.write(to: &json)
    }

    /// Writes a member, or nothing if the value is `nil`. (``member(_:_:)`` writes `null` for it.)
    @inlinable
    package mutating func member(_ key: String, ifPresent value: (some JSONWritable)?) {
        if let value { member(key, value) }
    }

    @inlinable
    package mutating func object(_ key: String, _ body: (inout JSONObjectWriter) -> Void) {
        json.key(key)
        json.object(body)
    }

    @inlinable
    package mutating func array(_ key: String, _ body: (inout JSONArrayWriter) -> Void) {
        json.key(key)
        json.array(body)
    }
}

/// Writes the elements of an array. Made by ``JSONWriter/array(_:)``.
@usableFromInline package struct JSONArrayWriter: Sendable {
    @usableFromInline var json: JSONWriter

    @usableFromInline init(json: consuming JSONWriter) { self.json = json }

    @inlinable
    package mutating func element(_ value: some JSONWritable) { value.write(to: &json) }

    @inlinable
    package mutating func object(_ body: (inout JSONObjectWriter) -> Void) { json.object(body) }

    @inlinable
    package mutating func array(_ body: (inout JSONArrayWriter) -> Void) { json.array(body) }
}
