import Glibc
import HeraldJSON
import HeraldRuntime
import Synchronization

/// Writes log lines, so that other threads do not wait for the reader of the log. Beyond a bound, lines are dropped. It counts
/// dropped lines, and lines that could not be written.
final class LogThread: Sendable {
    static let maxWaiting = 1_000

    private struct Queue {
        var lines: [@Sendable () -> LogLine] = []
        var leftOut = 0
        var isEnded = false
    }

    /// The lowest one that is written.
    let level: Atomic<Int>
    private let format: Log.Format
    private let descriptor: Int32
    private let queue = Mutex(Queue())
    private let wakeup: Wakeup
    private let isDone: HeraldRuntime.Semaphore
    private let thread = Mutex<Thread?>(nil)

    init(_ format: Log.Format, _ level: Log.Level, _ descriptor: Int32) throws(SystemError) {
        self.level = Atomic(level.rawValue)
        self.format = format
        self.descriptor = descriptor
        wakeup = try Wakeup()
        isDone = try HeraldRuntime.Semaphore()
        let started = try Thread(name: "log") { [self] in run() }
        thread.withLock { $0 = started }
    }

    /// Any thread; does not wait.
    /// - Parameter line: called on the log's thread.
    func write(_ line: @escaping @Sendable () -> LogLine) {
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

    /// Writes pending lines, and returns afterwards, or when nothing was read for a second. Must be the last call; another one returns
    /// at once.
    func end() {
        queue.withLock { $0.isEnded = true }
        wakeup.signal()
        guard let thread = thread.withLock({ $0.take() }) else { return }
        while !isDone.wait(milliseconds: 1000) {
            // A write to a log that is not read never returns: such a thread is abandoned, a slow one is not.
            if !canWrite { return }
        }
        thread.join()
    }

    private var canWrite: Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&entry, 1, 0) > 0
    }

    private func run() {
        /// Lines that were dropped, or that the descriptor has not accepted.
        var leftOut = 0
        while true {
            let batch = queue.withLock { queue in
                defer {
                    queue.lines = []
                    queue.leftOut = 0
                }
                return queue
            }
            leftOut += batch.leftOut + batch.lines.count { !write($0()) }
            if leftOut > 0, !batch.lines.isEmpty {
                let now = Timestamp(milliseconds: Clock.system.wall())
                let fields: Log.Fields = ["lines": String(leftOut)]
                // A full disk may have room later.
                if write(LogLine(time: now, level: .warning, message: "log lines were left out", fields: fields)) {
                    leftOut = 0
                }
            }
            if batch.lines.isEmpty {
                if batch.isEnded { break }
                wakeup.wait()
            }
        }
        isDone.signal()
    }

    /// Waits for the reader.
    /// - Returns: `false` if the line is lost: the disk is full, or a pipe has no reader any more.
    private func write(_ line: LogLine) -> Bool { Output.write(Array(line.text(format).utf8), to: descriptor) }
}
