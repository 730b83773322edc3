import HeraldCore
import HeraldModel
import HeraldRuntime

extension Hub {
    /// Runs `body` on a reader's thread, in the turns of the app `default`. Waits while too many reads are waiting.
    /// - Throws: `HubError.cancelled` if the task was cancelled while it waited.
    func reading<Value: Sendable>(
        isolation actor: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (any StoreReader) throws -> Value
    ) async throws(HubError) -> Value {
        while true {
            let result: Result<Value, HubError>? = await withCheckedContinuation { continuation in
                let isTaken = read(app: .default) { reader in
                    continuation.resume(
                        returning: Result { () throws(HubError) in try hubErrors { try body(reader.get()) } })
                }
                if !isTaken { continuation.resume(returning: nil) }
            }
            if let result { return try result.get() }
            if isStopping { throw .stopping }
            guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { throw .cancelled }
        }
    }

    /// Registers, changes or removes webhooks. Waits for room in the queue.
    func change(_ action: RegistryWrite.Action) async throws(HubError) -> RegistryWrite.Outcome {
        try await outcome { RegistryWrite(action: action, completion: $0) }
    }

    /// Redelivers, cancels or replays events. Waits for room in the queue.
    func manage(_ action: DeliveryWrite.Action) async throws(HubError) -> DeliveryWrite.Outcome {
        let outcome = try await outcome { DeliveryWrite(action: action, completion: $0) }
        if let error = outcome.error { throw error }
        return outcome
    }

    /// Changes a scheduled event.
    /// - Throws: `HubError`; nothing was changed then.
    func manage(scheduled id: String, _ action: PendingWrite.Action) async throws(HubError) -> PendingWrite.Outcome {
        let outcome = try await outcome { PendingWrite(id: id, action: action, completion: $0) }
        if let error = outcome.error { throw error }
        return outcome
    }

    /// Moves a pull delegate, or takes one of its leases back. Waits for room in the queue.
    /// - Throws: `HubError`; nothing was changed then.
    func manage(pull id: String, _ action: PullWrite.Action) async throws(HubError) {
        _ = try webhook(id, of: .default, for: .pull)
        let outcome = try await outcome { PullWrite(delegateID: id, action: action, completion: $0) }
        if let error = outcome.error { throw error }
    }

    /// Submits a write, which is withdrawn when the task is cancelled before the writer has taken it.
    private func outcome<Write: RequestCommand>(
        _ makeWrite: (@escaping @Sendable (WriteResult<Write.Outcome>) -> Void) -> Write
    ) async throws(HubError) -> Write.Outcome {
        let result: WriteResult<Write.Outcome> = await withTicket { submit(makeWrite($1), $0) }
        return try result.outcome()
    }

    /// Settles a run. Waits for room in the queue, also in a task that was cancelled: what a consumer has handled can still be
    /// acknowledged.
    /// - Throws: `HubError`; nothing was changed then.
    func settle(_ id: String, _ action: PullWrite.Action) async throws(HubError) -> PullWrite.Outcome {
        _ = try webhook(id, of: .default, for: .pull)
        let result: WriteResult<PullWrite.Outcome> = await withCheckedContinuation { continuation in
            submit(PullWrite(delegateID: id, action: action) { continuation.resume(returning: $0) }, WriteTicket())
        }
        let outcome = try result.outcome()
        if let error = outcome.error { throw error }
        return outcome
    }
}

extension WriteResult {
    fileprivate func outcome() throws(HubError) -> Outcome {
        switch self {
        case .done(let outcome): return outcome
        case .refused(let refusal): throw refusal
        case .replayed: throw .keyReused  // impossible without an idempotency key
        }
    }
}

/// The result of `body`, whose errors become those of the hub.
func hubErrors<Value>(_ body: () throws -> Value) throws(HubError) -> Value {
    do {
        return try body()
    } catch let error as HubError {
        throw error
    } catch let error as StoreError {
        throw .store(error)
    } catch {
        throw .store(.failed(reason: "\(error)"))
    }
}

/// Runs `body`, which blocks, on a thread of its own: it must not block the cooperative pool. If no thread can be created,
/// there is no alternative.
func onThread<Value: Sendable>(_ name: String, _ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in startThread(name) { continuation.resume(returning: body()) } }
}

/// Runs `body` on a thread of its own, without waiting for its end.
func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
    guard let thread = try? Thread(name: name, body: body) else { return body() }
    thread.detach()
}
