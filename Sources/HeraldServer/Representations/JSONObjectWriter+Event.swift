import Herald
import JSON

extension JSONObjectWriter {
    /// The answer to a post: the event without its data.
    mutating func head(of event: Event) {
        member("id", event.id)
        member("type", event.type)
        member("subject", event.subject)
        member("time", .timestamp(event.time))
    }

    mutating func members(of event: Event) {
        head(of: event)
        object("attributes") { for pair in event.attributes { $0.member(pair.key, pair.value) } }
        member("data", .raw(event.data))
    }
}
