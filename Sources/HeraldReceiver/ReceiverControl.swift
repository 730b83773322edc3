package import HeraldRuntime

/// Controls a running receiver, and returns its counts, through HTTP requests to another receiver. Any thread.
package final class ReceiverControl: Sendable {
    /// One of the control requests.
    package struct Request: Sendable {
        /// Its usage text: `POST /outage`.
        package let usage: String
        package let help: String
        /// - Returns: the body of the response.
        let perform: @Sendable (ReceiverControl, _ body: [UInt8]) throws -> [UInt8]
    }

    /// All control requests. The command's help is made from this list.
    package static let requests: [Request] = [
        Request(
            usage: "GET /counts",
            help:
                "Requests of each path in each second: all, those that got 2xx for the first time, and those that got it again."
        ) { control, _ in control.counts.json(now: control.clock.monotonic()) },
        Request(usage: "DELETE /counts", help: "Resets the counts.") { control, _ in
            control.counts.reset(now: control.clock.monotonic())
            return []
        },
        Request(
            usage: "POST /script",
            help: "Replaces the scripts of the paths in this script; null brings the old one back."
        ) { control, body in
            try control.replies.replace(body)
            return []
        },
        Request(
            usage: "POST /outage",
            help: "Responds to everything with 503, or as an object of directives says, until POST /recovery."
        ) { control, body in
            try control.replies.beginOutage(body)
            return []
        },
        Request(usage: "POST /refusal", help: "Closes all connections and refuses new ones, until POST /recovery.") {
            control, _ in
            control.receiver.refuseConnections()
            return []
        },
        Request(usage: "POST /recovery", help: "Ends an outage and a refusal.") { control, _ in
            control.replies.endOutage()
            try control.receiver.acceptConnections()
            return []
        },
    ]

    private let receiver: Receiver
    private let replies: ScriptedReplies
    private let counts: RequestCounts
    private let clock: Clock

    package init(_ receiver: Receiver, _ replies: ScriptedReplies, _ counts: RequestCounts, clock: Clock) {
        self.receiver = receiver
        self.replies = replies
        self.counts = counts
        self.clock = clock
    }

    /// The script of the receiver for control requests.
    package func reply(to request: ReceivedRequest) -> ReceiverReply {
        let usage = "\(request.method) \(request.path)"
        guard let known = Self.requests.first(where: { $0.usage == usage }) else {
            return .status(404, body: "There is no \(usage). `herald receiver --help` lists all.\n")
        }
        do {
            let body = try known.perform(self, request.body)
            return body.isEmpty
                ? .status(204) : .status(200, headers: [("content-type", "application/json")], bytes: body)
        } catch {
            return .status(error is ScriptError ? 400 : 500, body: "\(error)\n")
        }
    }
}
