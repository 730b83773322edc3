extension JSONValue {
    /// The number of members or elements; 0 for scalars.
    package var count: Int { Int(node.count) }

    /// The member with this key, after escapes are resolved, compared byte by byte; `nil` if the value is not an
    /// object.
    package subscript(key: String) -> JSONValue? {
        guard kind == .object else { return nil }
        return key.utf8.span.withUnsafeBufferPointer { tape.child(of: index, key: $0) }.map {
            JSONValue(tape: tape, index: $0)
        }
    }

    /// The members in the order of the text; empty if the value is not an object.
    package var members: Members { Members(elements: children(when: .object)) }

    /// The elements in the order of the text; empty if the value is not an array.
    package var elements: Elements { children(when: .array) }

    /// The member of an object that has no other one.
    package var onlyMember: (key: String, value: JSONValue)? { count == 1 ? members.first { _ in true } : nil }

    /// - Parameter index: 0 or more.
    package func element(at index: Int) -> JSONValue? {
        // Passes no elements to find that there are too few.
        index < count ? elements.dropFirst(index).first { _ in true } : nil
    }

    private func children(when kind: JSONKind) -> Elements {
        Elements(tape: tape, position: index + 1, end: self.kind == kind ? Int(node.next) : index + 1)
    }

    /// The key of a member, with escapes resolved; empty if the value is not a member.
    fileprivate var key: String { tape.string(node.keyRange, escaped: node.flags.contains(.keyEscaped)) }

    /// The elements of an array.
    package struct Elements: Sequence, IteratorProtocol, Sendable {
        let tape: Tape
        var position: Int
        let end: Int

        package mutating func next() -> JSONValue? {
            guard position < end else { return nil }
            let value = JSONValue(tape: tape, index: position)
            position = Int(value.node.next)
            return value
        }
    }

    /// The members of an object.
    package struct Members: Sequence, IteratorProtocol, Sendable {
        var elements: Elements

        package mutating func next() -> (key: String, value: JSONValue)? {
            elements.next().map { ($0.key, $0) }
        }
    }
}
