import Glibc
import Synchronization

/// How long a test waits for what has to happen, in seconds. A machine may be slow, and runs other tests at the same time: only a
/// test that fails waits so long.
public let patience: Double = 600

/// A condition that did not become true in time.
public struct TooLate: Error, CustomStringConvertible {
    public let description: String
}

/// Waits until the closure returns something, and returns that. It is asked every few milliseconds on a thread of its own,
/// so that the cooperative pool stays free.
/// - Throws: `TooLate` after the deadline, or what the closure throws.
public func eventually<Value: Sendable>(
    _ what: String, within seconds: Double = patience, _ condition: @escaping @Sendable () throws -> Value?
) async throws -> Value {
    try await RawHTTP.onThread { try blockUntil(what, within: seconds, pause: { usleep(5_000) }, condition) }
}

/// Waits until the closure returns `true`.
public func eventually(
    _ what: String, within seconds: Double = patience, _ condition: @escaping @Sendable () throws -> Bool
) async throws {
    let _: Bool = try await eventually(what, within: seconds) { try condition() ? true : nil }
}

/// Waits until a number stays as it is.
public func eventuallyStable(_ what: String, _ number: @escaping @Sendable () -> Int) async throws {
    let seen = Mutex<[Int]>([])
    try await eventually(what) {
        let current = number()
        let last = seen.withLock { seen in
            seen.append(current)
            return Array(seen.suffix(4))
        }
        return last.count == 4 && last.allSatisfy { $0 == current }
    }
}

/// Waits on the thread that asks, which has to be one of the test's own, until the closure returns something.
/// - Parameter pause: what is done between two looks.
/// - Throws: `TooLate` after the deadline, or what the closures throw.
@discardableResult
public func blockUntil<Value>(
    _ what: String, within seconds: Double = patience, pause: () throws -> Void = briefPause,
    _ condition: () throws -> Value?
) throws -> Value {
    let deadline = monotonicSeconds() + seconds
    while true {
        if let value = try condition() { return value }
        guard monotonicSeconds() < deadline else { throw TooLate(description: "not within \(seconds) s: \(what)") }
        try pause()
    }
}

/// Waits on the thread that asks until the closure returns `true`.
public func blockUntil(
    _ what: String, within seconds: Double = patience, pause: () throws -> Void = briefPause,
    _ condition: () throws -> Bool
) throws {
    let _: Bool = try blockUntil(what, within: seconds, pause: pause) { try condition() ? true : nil }
}

/// Time that only goes forward.
public func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// A fifth of a millisecond: for threads that look again and again.
public func briefPause() { usleep(200) }
