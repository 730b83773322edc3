package import HeraldCore
package import HeraldModel
package import HeraldRuntime

// What tests need of the hub's values, each with what the test says of it and a default for all else.

extension Event {
    package convenience init(
        _ type: String = "order.created", id: String = "evt", subject: String? = nil, time: Int64 = 1_760_000_000_000,
        attributes: [KeyValue] = [], audience: DelegateKey? = nil, data: String = "{}", app: AppKey = .default
    ) {
        self.init(
            app: app, id: id, type: type, subject: subject, time: time, attributes: attributes, audience: audience,
            data: Array(data.utf8))
    }
}

extension EventStore {
    /// A transaction that may do everything.
    @discardableResult
    package func transaction(
        _ body: (any StoreTransaction) throws(StoreError) -> Void
    ) throws(StoreError) -> Commit { try transaction(.deciding, body) }
}

extension WebhookSettings {
    package static func made(
        _ url: String = "https://receiver.example/", _ change: (inout WebhookSettings) -> Void = { _ in }
    ) -> WebhookSettings {
        var settings = WebhookSettings(url: url)
        change(&settings)
        return settings
    }
}

extension WebhookDelegate {
    package convenience init(
        _ key: DelegateKey = 1, url: String? = nil, start: LogPosition = 0, status: Status = .active,
        reason: String? = nil, secrets: [DelegateSecret] = [DelegateSecret(.test)], expiresAt: Int64? = nil,
        failingSince: Int64? = nil, version: Int64 = 1, app: AppKey = .default,
        _ change: (inout WebhookSettings) -> Void = { _ in }
    ) {
        self.init(
            app: app, key: key, id: "dlg_\(key)",
            state: State(
                settings: .made(url ?? "https://receiver.example/\(key)", change), status: status,
                statusReason: reason, secrets: secrets, expiresAt: expiresAt, failingSince: failingSince),
            start: start, createdAt: 10, updatedAt: 20, version: version)
    }
}

extension SigningSecret {
    package static let test = SigningSecret(bytes: Array(0..<32))
}

extension CallbackOutcome {
    package static let success = CallbackOutcome.answered(200)
    package static let failure = CallbackOutcome.answered(500)

    /// No answer came.
    package static func failed(_ failure: CallbackFailure) -> CallbackOutcome {
        CallbackOutcome(verdict: .failed(failure, detail: ""), duration: 0)
    }
}

extension Hub {
    /// A hub whose store and receivers are in memory; every callback succeeds.
    package static func inMemory(
        store: any EventStore = MemoryStore(), configuration: Configuration = Configuration(), clock: Clock = .system
    ) throws -> Hub {
        try Hub(
            store: store, configuration: configuration, clock: clock, onDurabilityLost: { _ in },
            makeSender: { try MemorySender() })
    }

    /// Submits a write, and waits for its result.
    /// - Parameter make: makes the write, with the completion that it gets.
    @discardableResult
    package func result<Command: RequestCommand>(
        of type: Command.Type, _ make: (@escaping @Sendable (WriteResult<Command.Outcome>) -> Void) -> Command
    ) async -> WriteResult<Command.Outcome> {
        await withCheckedContinuation { continuation in
            submit(make { continuation.resume(returning: $0) })
        }
    }
}

package func attempt(
    _ delegate: DelegateKey, _ event: LogPosition, number: Int = 1, status: Int? = 200, failure: CallbackFailure? = nil,
    detail: String = "", excerpt: String = "", startedAt: Int64 = 5000
) -> AttemptRecord {
    AttemptRecord(
        delegate: delegate, event: event, number: number, startedAt: startedAt, duration: 1234, status: status,
        failure: failure, detail: detail, excerpt: Array(excerpt.utf8))
}

/// The error that the body throws.
package func failure(_ body: () throws -> Void) -> StoreError? {
    do {
        try body()
        return nil
    } catch {
        return error as? StoreError
    }
}

/// All that a start finds.
@dynamicMemberLookup
package struct Found {
    fileprivate let all: Recovery
    fileprivate let deliveries: LaneRecovery

    package subscript<Value>(dynamicMember path: KeyPath<Recovery, Value>) -> Value { all[keyPath: path] }
    package subscript<Value>(dynamicMember path: KeyPath<LaneRecovery, Value>) -> Value { deliveries[keyPath: path] }
    package var settled: LogPosition { deliveries.settled.earliest() }
}

extension EventStore {
    /// All rows, however many.
    package func recover(_ shards: Shards) throws(StoreError) -> LaneRecovery { try recover(shards, maxRows: .max) }

    package func found() throws(StoreError) -> Found { Found(all: try recover(), deliveries: try recover(.all)) }

    package func checkpointIfDue() throws(StoreError) -> DatabaseCheckpoint { try checkpointIfDue(erasing: true) }
}

extension LogTransaction {
    /// Erases the events completely.
    package func erase(_ events: [LogPosition]) throws(StoreError) -> Erasure { try erase(events, limit: .max) }

    package func eraseSubject(_ subject: String, app: AppKey) throws(StoreError) -> Erasure {
        var sum = try eraseSubject(subject, app: app, after: "", limit: .max)
        while let next = sum.nextAnswer {
            let more = try eraseSubject(subject, app: app, after: next, limit: .max)
            sum.answers += more.answers
            sum.nextAnswer = more.nextAnswer
        }
        return sum
    }

    /// Appends one event to the log.
    package func append(_ event: Event) throws(StoreError) { try append([event]) }
}
