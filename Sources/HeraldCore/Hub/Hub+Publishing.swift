package import HeraldDelivery
package import HeraldModel
import HeraldRuntime

extension Hub {
    /// Makes events durable and calls the delegates. Waits for room in the queue.
    /// - Returns: the result for each event, in their order.
    /// - Throws: `HubError`; nothing was published then. `.cancelled` if the task was cancelled before the writer had taken
    ///   them.
    package func publish(_ drafts: [EventDraft]) async throws(HubError) -> [PublishedEvent] {
        let result: WriteResult<[PublishedEvent]> = await withTicket { ticket, completion in
            publish(Publication(drafts: drafts, ticket: ticket, completion: completion))
        }
        switch result {
        case .done(let published): return published
        case .refused(let refusal): throw refusal
        case .replayed: return []  // impossible without an idempotency key
        }
    }

    /// The bytes of an event of a publication that waits, without its body.
    private static let awaitedEventBytes = 512

    /// Waits for the outcome of the first attempts of events that are about to be published; pass the result to `Publication`.
    /// - Parameters:
    ///   - app: whose events they are.
    ///   - events: the number of events that will carry it, ≥ 1.
    ///   - bytes: what is in memory of the publication until the wait ends, besides a part for each event.
    ///   - seconds: how long to wait.
    ///   - completion: called once on some thread: with all outcomes, or with `nil` when the time is up, or when there are too many
    ///     deliveries; must not wait.
    /// - Returns: `nil` if there is no room for another publication that waits.
    package func watch(
        _ app: AppKey, events: Int, bytes: Int, seconds: Int,
        completion: @escaping @Sendable ([DeliveryWatch.Report]?) -> Void
    ) -> DeliveryWatch? {
        let bytes = bytes + events * Self.awaitedEventBytes
        guard awaitedRoom.take(bytes, of: app) else { return nil }
        let watch = DeliveryWatch(
            events: events, routers: loops.count + node.routers, room: awaitedRoom, taken: bytes, app: app,
            completion: completion)
        // At most ten years, so that the nanoseconds do not overflow.
        let end = clock.monotonic() + Int64(min(max(seconds, 0), 315_360_000)) * 1_000_000_000
        for loop in loops { loop.post(.expire(watch, at: end)) }
        return watch
    }

    /// Ends all waits for the outcomes of events that are committed, unless the storage was lost, which may not have them any more.
    /// Any thread.
    package func endWatches() {
        do throws(HubError) {
            try health()
        } catch {
            switch error {
            // What is committed stays.
            case .store(.full), .store(.inputOutput), .store(.notWritable), .store(.unavailable), .store(.unknown),
                .store(.outdated), .store(.unreadable), .store(.failed):
                break
            default: return
            }
        }
        for watch in committed.recentEvents.allWatches { watch.expire() }
    }

    /// Waits for a write, which is withdrawn when the task is cancelled before the writer has taken it.
    /// - Parameter submit: submits the write with this ticket and this completion.
    package func withTicket<Outcome: Sendable>(
        _ submit: (WriteTicket, @escaping @Sendable (WriteResult<Outcome>) -> Void) -> Void
    ) async -> WriteResult<Outcome> {
        let ticket = WriteTicket()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                submit(ticket) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            withdraw(ticket)
        }
    }
}
