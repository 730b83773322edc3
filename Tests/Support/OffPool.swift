/// Runs what may block or takes long on a thread of its own, away from the cooperative pool.
package func offPool<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        RawHTTP.start { continuation.resume(returning: body()) }
    }
}
