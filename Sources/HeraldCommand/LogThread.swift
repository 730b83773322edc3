import Runtime
import Synchronization

/// Writes lines of the log for those who must not wait for whoever reads it. Past a bound lines are left out and counted.
final class LogThread: Sendable {
    /// Lines that may wait.
    static let maxWaiting = 1_000

    private struct Queue {
        var lines: [@Sendable () -> Void] = []
        var leftOut = 0
        var isEnded = false
    }

    private let log: Log
    private let queue = Mutex(Queue())
    private let wakeup: Wakeup
    private let thread = Mutex<Thread?>(nil)

    init(_ log: Log) throws(SystemError) {
        self.log = log
        wakeup = try Wakeup()
        let started = try Thread(name: "log") { [self] in run() }
        thread.withLock { $0 = started }
    }

    /// Any thread; doesn't wait.
    func write(_ line: @escaping @Sendable () -> Void) {
        let isFirst = queue.withLock { queue in
            guard queue.lines.count < Self.maxWaiting else {
                queue.leftOut += 1
                return false
            }
            queue.lines.append(line)
            return queue.lines.count == 1
        }
        if isFirst { wakeup.signal() }
    }

    /// Writes what waits, and returns when that is done. The last call.
    func end() {
        queue.withLock { $0.isEnded = true }
        wakeup.signal()
        thread.withLock { $0.take() }?.join()
    }

    private func run() {
        while true {
            let batch = queue.withLock { queue in
                defer {
                    queue.lines = []
                    queue.leftOut = 0
                }
                return queue
            }
            for line in batch.lines { line() }
            if batch.leftOut > 0 { log.warning("log lines were left out", ["lines": String(batch.leftOut)]) }
            if batch.lines.isEmpty {
                if batch.isEnded { return }
                wakeup.wait()
            }
        }
    }
}
