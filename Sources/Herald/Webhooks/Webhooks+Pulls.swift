import Foundation
import HeraldCore
public import HeraldModel
import HeraldRuntime
import Synchronization

/// Delegates whose events are pulled: they have no URL, and their consumers share the work.
extension Webhooks {
    /// Registers a pull delegate. One with the same settings is there already: that one is returned.
    /// - Parameters:
    ///   - events: types such as `order.placed`, prefixes such as `order.*`, or `*`.
    ///   - isOrdered: whether one lease at a time is handed out, and nothing passes an event that failed.
    ///   - ackSeconds: how long a lease lasts that is not extended, 5 to 43,200.
    ///   - description: for people; at most 256 characters.
    ///   - start: the first event that it gets.
    /// - Returns: its id.
    /// - Throws: `HubError.invalid`, `.tooMany`, or that the hub can't write.
    @discardableResult
    public func addPull(
        events: [String] = ["*"], isOrdered: Bool = false, ackSeconds: Int = 60, description: String = "",
        start: EventPoint = .now
    ) async throws(HubError) -> Webhook.ID {
        var settings = WebhookSettings(
            url: "", events: events.map(EventPattern.init(unchecked:)), description: description)
        settings.kind = .pull
        settings.ordering = isOrdered ? .strict : .none
        settings.ackSeconds = ackSeconds
        return try await register(settings, secret: nil, start: start) { _ in }.id
    }

    /// Pulls the next events of a delegate.
    /// - Parameters:
    ///   - id: the id of the pull delegate.
    ///   - max: the maximum number of events, 1 to 1,000.
    ///   - ackSeconds: how long the lease lasts, 5 to 43,200; `nil` for the delegate's.
    ///   - wait: how many seconds to wait for events if there are none, 0 to 60.
    /// - Returns: `nil` if there are none, or the task was cancelled. Events that were found then are handed out again at once.
    /// - Throws: `HubError.invalid`, `.notFound`, `.wrongKind`, `.delegatePaused`, `.busy`, or that the hub can't read or write.
    public func pull(
        _ id: Webhook.ID, max: Int = 100, ackSeconds: Int? = nil, wait: Int = 0
    ) async throws(HubError) -> PulledRun? {
        try PulledRun.check(ackSeconds)
        let range = 1...PullLease.maxEvents
        guard range.contains(max) else { throw .invalid([.integer("/max", range)]) }
        guard (0...60).contains(wait) else { throw .invalid([.integer("/wait", 0...60)]) }
        let pulls = Pulls(hub: hub)
        hub.addDelegate(pulls, description: "A pull of \(id)")
        defer { hub.removeDelegate(pulls) }
        let isCancelled = Atomic(false)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation {
                (continuation: CheckedContinuation<Result<Pulls.Run, Pulls.Failure>, Never>) in
                pulls.pull(
                    Pulls.Request(
                        delegateID: id, limit: max, ackSeconds: ackSeconds, seconds: wait,
                        waitsForRoom: true, isAwaited: { $0(!isCancelled.load(ordering: .relaxed)) },
                        isAbandoned: { isCancelled.load(ordering: .relaxed) }
                    ) { continuation.resume(returning: $0) })
            }
        } onCancel: {
            isCancelled.store(true, ordering: .relaxed)
            pulls.endAll()
        }
        let run: Pulls.Run
        switch result {
        case .success(let found): run = found
        case .failure(.busy): throw hub.isStopping ? HubError.stopping : HubError.busy
        case .failure(.hub(let error)): throw error
        }
        guard let lease = run.lease else {
            if hub.isStopping { throw .stopping }
            return nil
        }
        if isCancelled.load(ordering: .relaxed) {
            await withCheckedContinuation { continuation in
                pulls.release(lease, of: id) { continuation.resume() }
            }
            return nil
        }
        return PulledRun(
            id: lease.id,
            events: run.events.map { pulled in
                let position = EventPosition(rawValue: pulled.event.sequence)
                return .init(
                    event: PositionedEvent(position: position, event: pulled.event.event), attempt: pulled.attempt)
            },
            hasMore: run.hasMore, hub: hub, delegate: id)
    }

    /// The runs of a pull delegate, one after the other: `for try await run in hub.webhooks.runs(of: id)`.
    /// - Parameters:
    ///   - id: the id of the pull delegate.
    ///   - max: the maximum number of events of a run, 1 to 1,000.
    ///   - ackSeconds: how long a lease lasts, 5 to 43,200; `nil` for the delegate's.
    /// - Returns: a sequence that ends when the hub stops or the task is cancelled, and throws as ``pull(_:max:ackSeconds:wait:)``, but
    ///   not `.busy`: it tries again. Several iterations share the work.
    public func runs(
        of id: Webhook.ID, max: Int = 100, ackSeconds: Int? = nil
    ) -> some AsyncSequence<PulledRun, HubError> & Sendable {
        PullSequence(webhooks: self, id: id, max: max, ackSeconds: ackSeconds)
    }

    /// Moves the position of a pull delegate: the next pull begins at this event. All leases end.
    /// - Throws: `HubError.invalid`, `.notFound`, `.wrongKind`, or that the hub can't read or write.
    public func seek(_ id: Webhook.ID, to point: EventPoint) async throws(HubError) {
        let position = try await hub.reading { [hub] reader in
            try point.input.first(in: reader, app: .default, head: hub.head, pointer: "/to") - 1
        }
        try await hub.manage(pull: id, .seek(to: position))
    }

    /// The leases of a pull delegate that have not ended, the first one to end first.
    /// - Throws: `HubError.notFound`, `.wrongKind`, or that the hub can't read.
    public func leases(of id: Webhook.ID) async throws(HubError) -> [PulledRun.Lease] {
        let delegate = try hub.webhook(id, of: .default, for: .pull)
        return try await hub.reading { [hub] reader in
            let now = hub.clock.wall()
            return try reader.leases(of: delegate.key, endedBy: .max, limit: PullLease.maxCount)
                .filter { $0.expiresAt > now }.map { lease in
                    PulledRun.Lease(
                        id: lease.id, events: lease.entries.count, date: Date(milliseconds: lease.createdAt),
                        end: Date(milliseconds: lease.expiresAt))
                }
        }
    }

    /// Takes a lease back: its events are handed out again at once, without an attempt.
    /// - Throws: `HubError.leaseEnded`, `.notFound`, `.wrongKind`, or that the hub can't write.
    public func endLease(_ lease: String, of id: Webhook.ID) async throws(HubError) {
        try await hub.manage(pull: id, .release(lease: lease))
    }
}
