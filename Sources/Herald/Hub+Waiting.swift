import HeraldCore
import HeraldRuntime

extension Hub {
    /// Runs `body` on a reader's thread.
    func reading<Value: Sendable>(
        isolation actor: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (any StoreReader) throws -> Value
    ) async throws(HubError) -> Value {
        let result: Result<Value, HubError> = await withCheckedContinuation { continuation in
            let isTaken = read { reader in
                continuation.resume(
                    returning: Result { () throws(HubError) in try hubErrors { try body(reader.get()) } })
            }
            if !isTaken { continuation.resume(returning: .failure(isStopping ? .stopping : .busy)) }
        }
        return try result.get()
    }

    /// Registers, changes or removes webhooks.
    func change(_ action: RegistryWrite.Action) async throws(HubError) -> RegistryWrite.Outcome {
        let result = await withCheckedContinuation { continuation in
            change(RegistryWrite(action: action) { continuation.resume(returning: $0) })
        }
        return try result.outcome()
    }

    /// Redelivers, cancels or replays events.
    func manage(_ action: DeliveryWrite.Action) async throws(HubError) -> DeliveryWrite.Outcome {
        let result = await withCheckedContinuation { continuation in
            manage(DeliveryWrite(action: action) { continuation.resume(returning: $0) })
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
        case .refused(let refusal): throw refusal.error
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
    await withCheckedContinuation { continuation in
        let run: @Sendable () -> Void = { continuation.resume(returning: body()) }
        guard let thread = try? Thread(name: name, body: run) else { return run() }
        thread.detach()
    }
}
