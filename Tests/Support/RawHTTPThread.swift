import Glibc

/// Blocking work for tests, off the cooperative pool, which has only as many threads as the machine has cores.
public enum RawHTTP {
    /// Runs the body on a thread of its own.
    public static func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            start { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Sends a request on a connection of its own.
    /// - Returns: `nil` if the connection ends without a response.
    public static func response(to request: String, port: UInt16) async throws -> RawHTTPResponse? {
        try await onThread {
            let client = try RawHTTPClient(port: port, sending: request)
            return try client.readResponse()
        }
    }

    /// Starts a thread and forgets it.
    public static func start(_ body: @escaping @Sendable () -> Void) {
        final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            }, Unmanaged.passRetained(Box(body)).toOpaque())
        precondition(result == 0, "no thread")
        pthread_detach(thread)
    }
}
