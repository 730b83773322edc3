import HeraldJSON

/// The body of a callback in `standard` format (Standard Webhooks: `type`, `timestamp`, `data`), with Herald's
/// `subject` if the event has one.
enum StandardBody {
    static func encode(
        type: String, subject: String?, time: Int64, data: UnsafeBufferPointer<UInt8>
    ) -> (body: [UInt8], dataRange: Range<Int>) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(data.count + type.utf8.count + (subject?.utf8.count ?? 0) + 80)
        bytes.append("{\"type\":")
        bytes.append(value: type)
        bytes.append(",\"timestamp\":")
        bytes.append(value: Timestamp(milliseconds: time))
        bytes.append(",\"data\":")
        let start = bytes.count
        bytes.append(contentsOf: data)
        let range = start..<bytes.count
        if let subject {
            bytes.append(",\"subject\":")
            bytes.append(value: subject)
        }
        bytes.append(UInt8(ascii: "}"))
        return (bytes, range)
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ literal: StaticString) {
        literal.withUTF8Buffer { append(contentsOf: $0) }
    }

    fileprivate mutating func append(value: some JSONWritable) {
        var json = JSONWriter(appendingTo: consume self)
        value.write(to: &json)
        self = json.bytes
    }
}
