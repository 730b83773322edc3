package import HeraldModel

/// A replay in progress, and its backlog.
package struct ReplayProgress: Sendable {
    package let replay: Replay
    package let backlog: Backlog
    /// The share of its part of the log that it has read, 0 to 1.
    package let progress: Double

    /// A reader's thread.
    package init(_ replay: Replay, _ delegate: WebhookDelegate, _ hub: Hub, _ counter: BacklogCounter) throws {
        self.replay = replay
        backlog = try counter.count(delegate, after: replay.cursor, through: replay.until)
        progress = hub.committed.usage.progress(of: replay, in: delegate.app)
    }
}
