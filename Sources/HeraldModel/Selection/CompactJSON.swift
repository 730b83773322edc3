import HeraldJSON

/// A value without white space between its parts, and with as few escapes as possible. Numbers stay as written.
struct CompactJSON: JSONWritable {
    private let value: JSONValue
    private let sortsMembers: Bool

    /// - Parameter sortsMembers: whether the members of objects are in the order of their keys.
    init(_ value: JSONValue, sortsMembers: Bool = false) {
        self.value = value
        self.sortsMembers = sortsMembers
    }

    func write(to json: inout JSONWriter) {
        switch value.kind {
        case .object:
            var members = value.members.map { (key: $0.key, value: $0.value) }
            if sortsMembers { members.sort { $0.key < $1.key } }
            json.object { object in
                for member in members {
                    object.member(member.key, CompactJSON(member.value, sortsMembers: sortsMembers))
                }
            }
        case .array:
            json.array { array in
                for value in value.elements { array.element(CompactJSON(value, sortsMembers: sortsMembers)) }
            }
        case .string: json.value(value.string)
        case .number, .bool, .null: json.value(value)
        }
    }
}
