import HeraldJSON

/// A value without white space between its parts, and with as few escapes as possible. Numbers stay as written.
struct CompactJSON: JSONWritable {
    let value: JSONValue

    init(_ value: JSONValue) { self.value = value }

    func write(to json: inout JSONWriter) {
        switch value.kind {
        case .object: json.object { for (key, value) in value.members { $0.member(key, CompactJSON(value)) } }
        case .array: json.array { for value in value.elements { $0.element(CompactJSON(value)) } }
        case .string: json.value(value.string)
        case .number, .bool, .null: json.value(value)
        }
    }
}
