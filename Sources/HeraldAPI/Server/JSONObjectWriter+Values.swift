import HeraldJSON

extension JSONObjectWriter {
    /// Writes a member that is an array of objects.
    /// - Parameter write: writes the members of the object for an element.
    mutating func array<Element>(
        _ key: String, of elements: some Sequence<Element>, _ write: (Element, inout JSONObjectWriter) -> Void
    ) {
        array(key) { list in
            for element in elements { list.object { write(element, &$0) } }
        }
    }

    /// Writes a member that is an object, or `null` without a value.
    /// - Parameter write: writes the members of the object.
    mutating func object<Value>(
        _ key: String, of value: Value?, _ write: (Value, inout JSONObjectWriter) -> Void
    ) {
        guard let value else { return member(key, JSONNull()) }
        object(key) { write(value, &$0) }
    }
}
