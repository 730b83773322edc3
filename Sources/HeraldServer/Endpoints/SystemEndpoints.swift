import HTTPServer
import Herald
import JSON

/// Health, metrics, and the description of the API.
struct SystemEndpoints: Sendable {
    let hub: Hub
    let metrics: Metrics

    var routes: [Route] {
        [
            Route(.get, "/healthz") { call throws(Problem) in
                _ = try call.query()
                call.send { $0.member("status", "ok") }
            },
            Route(.get, "/readyz", ready),
            Route(.get, "/metrics") { call throws(Problem) in
                _ = try call.query()
                call.send(
                    Response(
                        status: 200, headers: [.init("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
                        body: metrics.text()))
            },
            Route(.get, "/openapi.yaml") { call in
                call.send(
                    Response(
                        status: 200, headers: [.init("Content-Type", "application/yaml")],
                        body: PackageResources.openapi_yaml))
            },
            Route(.get, "/openapi.json") { call in call.send([], PackageResources.openapi_json) },
        ]
    }

    /// Whether events can be accepted now: the store answers and the disk has room.
    private func ready(_ call: Call) throws(Problem) {
        _ = try call.query()
        try call.answer(from: hub) { _ in
            try hub.health()
            call.send { $0.member("status", "ready") }
        }
    }
}
