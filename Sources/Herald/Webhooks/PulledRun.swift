public import Foundation
import HeraldCore
public import HeraldModel

/// Events that were pulled together, and the lease that keeps other consumers from them: the result of
/// ``Webhooks/pull(_:max:ackSeconds:wait:)``.
///
/// A run that is neither acknowledged nor released in time expires. Its events are handed out again then, each alone.
public struct PulledRun: Identifiable, Sendable {
    /// An event of a run.
    public struct PulledEvent: Sendable {
        /// The event, with its position in the log.
        public let event: PositionedEvent
        /// The number of the attempt, from 1.
        public let attempt: Int
    }

    /// An event that a consumer could not handle.
    public struct Failed: Sendable {
        let failed: PullWrite.Failed

        /// - Parameters:
        ///   - id: the id of an event of the run.
        ///   - retryAfter: the seconds until it is handed out again, 0 to 604,800; `nil` for the retry schedule.
        ///   - reason: shown with the attempt; at most 200 characters.
        public init(id: String, retryAfter: Int? = nil, reason: String = "") {
            failed = PullWrite.Failed(id: id, retryAfter: retryAfter, reason: reason)
        }
    }

    /// The result of an acknowledgement.
    public struct Settled: Equatable, Sendable {
        /// Events that are done.
        public let acknowledged: Int
        /// Events that are handed out again by the retry schedule.
        public let retrying: Int
        /// Events whose retry schedule is used up.
        public let exhausted: Int
        /// Events that were given back without an attempt.
        public let returned: Int
    }

    /// A lease that has not ended.
    public struct Lease: Identifiable, Sendable {
        /// The id of its run.
        public let id: String
        /// The number of its events.
        public let events: Int
        /// When its events were pulled.
        public let date: Date
        /// When it ends.
        public let end: Date
    }

    /// The id of its lease.
    public let id: String
    /// In the order of the log; at least one.
    public let events: [PulledEvent]
    /// There is probably more to pull now.
    public let hasMore: Bool
    let hub: Hub
    let delegate: Webhook.ID

    /// Acknowledges the events, except those that failed, and ends the lease.
    /// - Throws: `HubError.leaseEnded` if it was too late, `.invalid` for a wrong failure or one of another run, or that the hub can't
    ///   write.
    @discardableResult
    public func acknowledge(except failed: [Failed] = []) async throws(HubError) -> Settled {
        try await settle(.acknowledge(lease: id, failed: failed.map(\.failed)))
    }

    /// Gives all events back, without an attempt, and ends the lease.
    /// - Throws: `HubError.leaseEnded` if it was too late, or that the hub can't write.
    @discardableResult
    public func release() async throws(HubError) -> Settled { try await settle(.release(lease: id)) }

    /// Lets the lease end later: `seconds` from now, unless it would end after that, and at the latest twelve hours after the pull.
    /// - Parameter seconds: 5 to 43,200.
    /// - Throws: `HubError.leaseEnded` if it was too late, `.invalid`, or that the hub can't write.
    public func extend(seconds: Int) async throws(HubError) {
        try PulledRun.check(seconds)
        _ = try await hub.settle(delegate, .extend(lease: id, seconds: seconds))
    }

    private func settle(_ action: PullWrite.Action) async throws(HubError) -> Settled {
        guard case .settled(let counts) = try await hub.settle(delegate, action) else {
            throw .leaseEnded(id: id)
        }
        return Settled(
            acknowledged: counts.acknowledged, retrying: counts.retrying, exhausted: counts.exhausted,
            returned: counts.returned)
    }

    static func check(_ seconds: Int?) throws(HubError) {
        let range = WebhookField.ackSecondsRange
        guard seconds.map(range.contains) ?? true else { throw .invalid([.integer("/ack_seconds", range)]) }
    }
}

/// The runs of a pull delegate, one after the other: what ``Webhooks/runs(of:max:ackSeconds:)`` returns as an
/// opaque type.
struct PullSequence: AsyncSequence, Sendable {
    typealias Element = PulledRun
    typealias Failure = HubError

    let webhooks: Webhooks
    let id: Webhook.ID
    let max: Int
    let ackSeconds: Int?

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(sequence: self) }

    struct AsyncIterator: AsyncIteratorProtocol {
        typealias Failure = HubError

        let sequence: PullSequence

        mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(HubError) -> Element? {
            while !Task.isCancelled {
                do throws(HubError) {
                    let run = try await sequence.webhooks.pull(
                        sequence.id, max: sequence.max, ackSeconds: sequence.ackSeconds, wait: 10)
                    if let run { return run }
                } catch {
                    switch error {
                    case .stopping, .cancelled: return nil
                    // Too many reads wait, or too many pulls compete.
                    case .busy: try? await Task.sleep(for: .milliseconds(20))
                    default: throw error
                    }
                }
            }
            return nil
        }
    }
}
