import HeraldCore
import HeraldJSON

/// A replay in progress, and its backlog.
struct ReplayProgress: Sendable {
    let replay: Replay
    private let backlog: Backlog
    private let progress: Double

    /// A reader's thread.
    init(_ replay: Replay, _ delegate: WebhookDelegate, _ hub: Hub, _ counter: BacklogCounter) throws {
        self.replay = replay
        backlog = try counter.count(delegate, after: replay.cursor, through: replay.until)
        progress = hub.usage.progress(of: replay, in: delegate.app)
    }

    fileprivate func write(to json: inout JSONObjectWriter, _ seal: NumberSeal, _ app: AppKey) {
        json.member("id", seal.id(of: replay, app: app))
        json.member("events", backlog.events)
        json.member("estimated", backlog.isEstimate)
        json.member("progress", progress)
        json.member("created_at", .timestamp(replay.createdAt))
    }
}

extension JSONObjectWriter {
    mutating func members(of replay: ReplayProgress, _ seal: NumberSeal, _ app: AppKey) {
        replay.write(to: &self, seal, app)
    }
}
