import Glibc

/// Runs what may block or takes long on a thread of its own, away from the cooperative pool.
package func offPool<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        RawHTTP.start { continuation.resume(returning: body()) }
    }
}

/// Runs a long computation on a thread of its own that gives way to all others, so that tests which wait for something
/// happen in time.
package func inBackground<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await offPool {
        // On Linux 0 is the calling thread, which ends with the computation.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        return body()
    }
}
