import Herald
import JSON

extension JSONObjectWriter {
    mutating func members(of stream: EventStream, in hub: Hub) {
        member("id", stream.id)
        member("kind", "stream")
        member("status", "active")
        member("status_reason", JSONNull())
        member("events", stream.interest.events.map(\.text))
        member("subjects", stream.interest.subjects.sorted())
        member("description", stream.description)
        object("lag") { $0.member("events", stream.lag(head: hub.head)) }
        member("created_at", .timestamp(stream.createdAt))
    }
}
