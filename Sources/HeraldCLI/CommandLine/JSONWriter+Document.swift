import HeraldJSON

extension JSONWriter {
    /// The bytes of one object.
    static func document(_ body: (inout JSONObjectWriter) -> Void) -> [UInt8] {
        var json = JSONWriter()
        json.object(body)
        return json.bytes
    }
}

extension RawJSON {
    static func object(_ body: (inout JSONObjectWriter) -> Void) -> RawJSON { .raw(JSONWriter.document(body)) }

    static func value(_ value: some JSONWritable) -> RawJSON {
        var json = JSONWriter()
        json.value(value)
        return .raw(json.bytes)
    }
}
