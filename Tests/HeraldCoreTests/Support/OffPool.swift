import HeraldRuntime

/// Runs what may block or takes long on a thread of its own, away from the cooperative pool.
func offPool<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        do {
            _ = try Thread(name: "test") { continuation.resume(returning: body()) }
        } catch {
            fatalError("\(error)")
        }
    }
}
