import HeraldJSON

extension RawJSON {
    static func object(_ body: (inout JSONObjectWriter) -> Void) -> RawJSON { .raw(JSONWriter.document(body)) }

    static func value(_ value: some JSONWritable) -> RawJSON { .raw(JSONWriter.document(of: value)) }
}
