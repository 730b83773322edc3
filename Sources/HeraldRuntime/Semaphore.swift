/// A counting semaphore for any threads.
package final class Semaphore: Sendable {
    private let permits: Wakeup

    package init() throws(SystemError) { permits = try Wakeup(countsSignals: true) }

    package func signal() { permits.signal() }

    /// Takes one permit; waits for it if necessary.
    package func wait() {
        while !permits.take() { permits.sleep(milliseconds: -1) }
    }

    /// Takes one permit; waits for it at most this long.
    /// - Returns: whether it got one.
    package func wait(milliseconds: Int32) -> Bool {
        let deadline = Clock.system.monotonic() + Int64(milliseconds) * 1_000_000
        while !permits.take() {
            let rest = deadline - Clock.system.monotonic()
            if rest <= 0 { return false }
            permits.sleep(milliseconds: Int32(clamping: rest / 1_000_000 + 1))
        }
        return true
    }
}
