import Herald
import JSON

/// Server-Sent Events, as the HTML standard describes them.
///
/// An event has no `event:` field, so that `onmessage` of a browser gets all types. What the service itself has to say has
/// one: `ready` at the beginning, whose `id:` lets a client resume that was cut off before any event came, and `reset`
/// where events may be missing.
extension StreamFormat {
    static let serverSentEvents = StreamFormat(
        event: { event in
            var json = JSONWriter(capacity: event.body.count + 128)
            json.object { $0.members(of: event) }
            return message(id: event.id, data: json.bytes)
        },
        beginning: { beginning in
            switch beginning {
            case .after(let id):
                Array("retry: \(retryMilliseconds)\n".utf8)
                    + message(event: "ready", id: id ?? "earliest", data: object { $0.member("after", id) })
            case .lost(let id):
                Array("retry: \(retryMilliseconds)\n".utf8)
                    + message(
                        event: "reset", id: id ?? "earliest",
                        data: object {
                            $0.member("after", id)
                            $0.member(
                                "detail",
                                "The log does not have the event of Last-Event-ID: it never was, or it is older than the "
                                    + "log. New events follow; GET /v1/events lists those that are left.")
                        })
            }
        },
        gap: {
            message(
                event: "reset", id: nil,
                data: object {
                    $0.member(
                        "detail",
                        "The log was cut off before these events could be sent. It goes on with the oldest one left.")
                })
        })

    /// A line that says nothing. It ends no message, so nobody takes it for an empty one.
    static let heartbeat = Array(":\n".utf8)

    /// When a browser tries again.
    private static let retryMilliseconds = 1_000

    private static func object(_ members: (inout JSONObjectWriter) -> Void) -> [UInt8] {
        var json = JSONWriter(capacity: 256)
        json.object(members)
        return json.bytes
    }

    private static func message(event: String? = nil, id: String?, data: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(data.count + 128)
        if let event { bytes += Array("event: \(event)\n".utf8) }
        if let id { bytes += Array("id: \(id)\n".utf8) }
        bytes += Array("data: ".utf8)
        // A line break in JSON can only be white space between two tokens; here it would end the line.
        for byte in data { bytes.append(byte == 10 || byte == 13 ? 32 : byte) }
        bytes += [10, 10]
        return bytes
    }
}
