import HeraldCore

/// All live streams, of events and attempts.
struct Streams: Sendable {
    let events: EventStreams
    let attempts: AttemptStreams

    init(_ hub: Hub, _ seal: NumberSeal) {
        events = EventStreams(hub: hub, format: .serverSentEvents(seal))
        attempts = AttemptStreams(hub: hub, format: .serverSentEvents(seal))
        hub.addDelegate(events, description: "Live streams: clients that listen to events")
        hub.addDelegate(attempts, description: "Live streams: clients that listen to attempts")
    }

    var count: Int { events.all.count + attempts.all.count }
}
