import HeraldJSON
import HeraldModel

extension JSONObjectWriter {
    /// A post's response: the event without its data.
    mutating func head(of event: Event) {
        member("id", event.id)
        member("type", event.type)
        member("subject", event.subject)
        member("time", .timestamp(event.time))
    }

    mutating func members(of event: Event) {
        head(of: event)
        object("attributes") { for attribute in event.shownAttributes { attribute.write(to: &$0) } }
        member("data", .raw(event.data))
    }
}
