package import HeraldCrypto
package import HeraldJSON

extension Scheme {
    private static let members = [
        "header", "algorithm", "content", "encoding", "value", "key", "timestamp_header", "id_header",
    ]

    package static let presetNames = presets.map(\.name)

    /// Reads a scheme that is given in full.
    /// - Parameters:
    ///   - pointer: where it stands.
    ///   - errors: all errors are appended; then the result is `nil`.
    package init?(_ value: JSONValue, at pointer: String, _ errors: inout [FieldError]) {
        guard value.kind == .object else {
            errors.append(FieldError(pointer, "must be the name of a scheme, or an object"))
            return nil
        }
        let count = errors.count
        self.init(header: "")
        if value["header"] == nil { errors.append(FieldError("\(pointer)/header", "is required")) }
        for (name, member) in value.members {
            let place = JSONPointer.child(pointer, name)
            guard Self.members.contains(name) else {
                errors.append(.noMember(place, of: Self.members))
                continue
            }
            guard let text = member.string else {
                errors.append(FieldError(place, "must be a text"))
                continue
            }
            if let words = read(name, text) {
                errors.append(FieldError(place, "must be one of: \(words.joined(separator: ", "))"))
            }
        }
        if errors.count == count { errors += problems.map { FieldError(pointer + $0.pointer, $0.detail) } }
        if errors.count > count { return nil }
    }

    /// - Returns: the words of a member that has others; `nil` if the text is accepted.
    private mutating func read(_ name: String, _ text: String) -> [String]? {
        func choose<Value: RawRepresentable<String> & CaseIterable>(_ value: inout Value) -> [String]? {
            guard let chosen = Value(rawValue: text) else { return Value.allCases.map(\.rawValue) }
            value = chosen
            return nil
        }
        switch name {
        case "algorithm": return choose(&algorithm)
        case "encoding": return choose(&encoding)
        case "key": return choose(&key)
        case "header": header = text
        case "content": content = text
        case "value": value = text
        case "timestamp_header": timestampHeader = text
        default: idHeader = text
        }
        return nil
    }
}
