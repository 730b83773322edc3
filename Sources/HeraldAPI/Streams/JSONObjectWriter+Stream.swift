import HeraldCore
import HeraldJSON
import HeraldModel

extension JSONObjectWriter {
    mutating func members(of stream: EventStream, lag: Int64) {
        members(of: stream, log: "events", lag: lag)
        member("events", stream.interest.events.map(\.text))
        member("subjects", stream.interest.subjects.sorted())
    }

    mutating func members(of stream: AttemptStream, lag: Int64) {
        members(of: stream, log: "attempts", lag: lag)
        // It receives no events.
        member("events", [String]())
        member("subjects", [String]())
    }

    private mutating func members(of stream: LiveStream<some StreamInterest>, log: String, lag: Int64) {
        member("id", stream.id)
        member("kind", "stream")
        member("log", log)
        member("status", "active")
        member("status_reason", JSONNull())
        member("description", stream.description)
        object("lag") { $0.member(log, lag) }
        member("created_at", .timestamp(stream.createdAt))
    }
}
