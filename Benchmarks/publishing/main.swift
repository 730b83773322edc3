// What publishing costs before anything is stored: the service behind its HTTP server, in which events are read, checked,
// routed, handed to who would store them, and answered. Serves on http://127.0.0.1:PORT until it is stopped; events go nowhere.
// Benchmarks/run measures it beside libmicrohttpd alone.

import Glibc
import HeraldAPI
import HeraldCore
import HeraldDelivery
import HeraldHTTP
import HeraldModel
import HeraldTestSupport
import Synchronization

/// Stands for the log: it finds the one delegate that wants an event, and keeps what came last.
final class Sink: Sendable {
    private struct State {
        var router = Router()
        var recent: [Event?] = Array(repeating: nil, count: 1024)
        var count = 0
    }

    private let state: Mutex<State>

    init(delegates: [[EventPattern]]) {
        var state = State()
        for (lane, patterns) in delegates.enumerated() { state.router.insert(lane, patterns) }
        self.state = Mutex(state)
    }

    func take(_ publication: Publication) {
        state.withLock { state in
            for draft in publication.drafts {
                let (any, named) = state.router.lanes(for: draft.event.type)
                guard !any.isEmpty || !named.isEmpty else { continue }
                state.recent[state.count % state.recent.count] = draft.event
                state.count += 1
            }
        }
        publication.completion(
            .done(publication.drafts.map { PublishedEvent(event: $0.event, disposition: .accepted) }))
    }
}

guard CommandLine.arguments.count == 2, let port = UInt16(CommandLine.arguments[1]) else {
    print("usage: PublishingBenchmark PORT")
    exit(64)
}
let hub = try Hub(store: MemoryStore(), onDurabilityLost: { _ in exit(74) }, makeSender: { try MemorySender() })
let sink = Sink(delegates: [[.any]])
var configuration = HeraldService.Configuration()
configuration.publish = { sink.take($0) }
let server = try HTTPServer(
    HTTPServerConfiguration(port: port, maxBodyBytes: PublicationLimits.defaultBytes),
    handler: HeraldService(hub: hub, configuration: configuration))
while true { pause() }
