import HeraldCore
import HeraldModel
import HeraldRuntime

/// The event of a preview or of a test call: one of the log, the example of an event type, or a made-up one.
enum SampleEvent {
    case stored(id: String)
    case example(type: String)
    case any

    init(_ call: Call) throws(Problem) {
        let query = try call.query("event", "type")
        switch (query["event"], query["type"]) {
        case (let id?, nil): self = .stored(id: id)
        case (nil, let type?):
            guard EventType.isValid(type) else { throw .notFound("\(type) is not a type that can be published.") }
            self = .example(type: type)
        case (nil, nil): self = .any
        default: throw .badRequest("The parameters event and type exclude each other.")
        }
    }

    func event(_ app: AppKey, _ hub: Hub, _ reader: any StoreReader) throws -> Event {
        switch self {
        case .stored(let id): return try DeliverySelection.intactEvent(id, app, reader).event
        case .example(let type):
            let example = try reader.eventTypes([type], app: app).first?.example
            return make(app, hub, type, example ?? Self.data)
        case .any: return make(app, hub, "example.happened", Self.data)
        }
    }

    private static let data = Array(#"{"message":"This is an example."}"#.utf8)

    private func make(_ app: AppKey, _ hub: Hub, _ type: String, _ data: [UInt8]) -> Event {
        let now = hub.clock.wall()
        return Event(
            app: app, id: hub.ids.next("evt_", time: now, of: app), type: type, subject: "example:1", time: now,
            data: data)
    }
}
