import HeraldCore
import HeraldJSON
import HeraldModel

extension StreamFormat<Event> {
    static func serverSentEvents(_ seal: NumberSeal) -> StreamFormat {
        ServerSentEvents.format(
            seal, .event,
            missing: "The log does not have the event of Last-Event-ID: it never was, or it is older than the log. New "
                + "events follow; GET /v1/events lists those that are left."
        ) { event in
            var json = JSONWriter(capacity: event.body.count + 128)
            json.object { $0.members(of: event) }
            // A client that reconnects with one of these words would begin elsewhere. It gets this event again instead.
            let isWord = event.id == "now" || event.id == "earliest"
            return ServerSentEvents.message(id: isWord ? nil : event.id, data: json.bytes)
        }
    }
}

extension StreamFormat<LoggedAttempt> {
    static func serverSentEvents(_ seal: NumberSeal) -> StreamFormat {
        ServerSentEvents.format(
            seal, .attempt,
            missing: "There is no attempt with this Last-Event-ID: it never was, or it is older than the attempts that "
                + "are kept. New ones follow; GET /v1/delegates/{id}/attempts lists those that are left."
        ) { logged in
            let id = seal.id(of: logged.attempt, app: logged.app)
            var json = JSONWriter(capacity: 640)
            json.object {
                $0.members(of: logged.attempt, id: id, eventID: logged.eventID)
                $0.member("delegate", logged.delegateID)
            }
            return ServerSentEvents.message(id: id, data: json.bytes)
        }
    }
}

/// The format of streams, as the HTML standard defines it.
///
/// An entry of a log has no `event:` field, so that a browser's `onmessage` gets all of them. Messages of the service
/// have one: `ready` at the start, whose `id:` allows resuming before the first entry, and `reset` when entries may be
/// missing.
enum ServerSentEvents {
    /// - Parameters:
    ///   - kind: the kind of the log's positions.
    ///   - missing: the message when the log does not contain the client's last entry.
    static func format<Entry>(
        _ seal: NumberSeal, _ kind: NumberSeal.Kind, missing: String, entry: @escaping @Sendable (Entry) -> [UInt8]
    ) -> StreamFormat<Entry> {
        @Sendable func id(_ place: StreamPlace, _ app: AppKey) -> String {
            place.id ?? seal.place(place.number, kind, of: app)
        }
        return StreamFormat(
            entry: entry,
            beginning: { beginning, app in
                switch beginning {
                case .after(let place):
                    let id = id(place, app)
                    return retry + message(event: "ready", id: id) { $0.member("after", id) }
                case .lost(let place):
                    let id = id(place, app)
                    return retry
                        + message(event: "reset", id: id) {
                            $0.member("after", id)
                            $0.member("detail", missing)
                        }
                }
            },
            gap: {
                message(event: "reset", id: nil) {
                    $0.member(
                        "detail", "What came next was removed before it could be sent. The oldest that is left follows."
                    )
                }
            })
    }

    /// A comment line. It ends no message, so it can't be mistaken for an empty one.
    static let heartbeat = Array(":\n".utf8)

    /// The delay before a browser reconnects, in milliseconds.
    private static let retry = Array("retry: 1000\n".utf8)

    private static func message(event: String, id: String?, _ members: (inout JSONObjectWriter) -> Void) -> [UInt8] {
        message(event: event, id: id, data: JSONWriter.document(capacity: 256, members))
    }

    static func message(event: String? = nil, id: String?, data: [UInt8]) -> [UInt8] {
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
