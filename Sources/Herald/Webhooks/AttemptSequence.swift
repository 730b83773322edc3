import HeraldCore
public import HeraldModel

/// The attempts to call webhooks, one after the other, as they are recorded: what
/// ``Webhooks/followAttempts(after:)`` returns as an opaque type.
struct AttemptSequence: AsyncSequence, Sendable {
    typealias Element = Webhook.Attempt
    typealias Failure = HubError

    fileprivate let hub: Hub
    fileprivate let id: Int64?

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(hub, after: id) }

    struct AsyncIterator: AsyncIteratorProtocol {
        typealias Failure = HubError

        private let hub: Hub
        private let log: AttemptLog
        private let signal: LogSignal
        /// The last attempt that was read; `nil` before the first read.
        private var last: Int64?
        /// Attempts that were already read.
        private var page: ArraySlice<LoggedAttempt> = []

        fileprivate init(_ hub: Hub, after id: Int64?) {
            self.hub = hub
            last = id
            log = AttemptLog(hub)
            signal = LogSignal(hub, "Follows the attempts: a sequence", hearsAttempts: true)
        }

        mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(HubError) -> Element? {
            while !Task.isCancelled {
                if let entry = page.popFirst() {
                    guard entry.app == .default else { continue }
                    return Webhook.Attempt(entry.attempt, webhookID: entry.delegateID, eventID: entry.eventID)
                }
                // Read the state first, so that no attempt is missed that is recorded during the read.
                let (state, place) = (signal.state, last)
                do throws(HubError) {
                    try await read()
                } catch {
                    switch error {
                    case .stopping, .cancelled: return nil
                    default: throw error
                    }
                }
                // A page without an attempt of a known app is passed over.
                guard page.isEmpty, last == place else { continue }
                // A wait would end at once, as long as the hub stops.
                if state.hasEnded { return nil }
                await signal.wait { $0.recordings > state.recordings }
            }
            return nil
        }

        private mutating func read(isolation actor: isolated (any Actor)? = #isolation) async throws(HubError) {
            let (log, last) = (log, last)
            let found = try await hub.reading { reader in
                try log.page(after: last ?? log.end(in: reader), in: reader)
            }
            self.last = found.last
            page = found.entries[...]
        }
    }
}

extension Webhooks {
    /// The attempts of all webhooks as a sequence, oldest first, once they are recorded.
    ///
    /// Each iteration reads at its own speed. It keeps the hub alive until its end.
    /// - Parameter id: begins after the attempt with this ``Webhook/Attempt/id``; `nil`: with those that are recorded after
    ///   the first call of `next()` of an iteration.
    /// - Returns: a sequence that ends when the hub stops or the task is cancelled, and throws `HubError.store` when the store can't
    ///   be read.
    public func followAttempts(
        after id: Int64? = nil
    ) -> some AsyncSequence<Webhook.Attempt, HubError> & Sendable {
        AttemptSequence(hub: hub, id: id)
    }
}
