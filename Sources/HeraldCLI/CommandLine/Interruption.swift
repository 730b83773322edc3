import Glibc
import Synchronization

/// Ends a running command at Ctrl-C or TERM, between two lines of output and not within one.
final class Interruption: Sendable {
    private let isWriting = Mutex(())

    /// How long the output of a line may take if it is not read.
    private static let outputTimeout = 50

    /// Handles the signals from now on. Must be created before any other thread, on the thread that writes.
    /// - Parameter end: prints the last output, on a thread of its own.
    init(atEnd end: @escaping @Sendable () -> Void = {}) throws(CommandError) {
        try Signals().observe { [self] signal, _ in
            for _ in 0..<Self.outputTimeout {
                let isOver: Void? = isWriting.withLockIfAvailable { _ in Self.finish(signal, end) }
                if isOver != nil { return }
                poll(nil, 0, 10)
            }
            Self.finish(signal, end)
        }
    }

    /// Runs code that must not be interrupted, such as writing a line.
    func protect(_ body: () throws(CommandError) -> Void) throws(CommandError) {
        try isWriting.withLock { _ throws(CommandError) in try body() }
    }

    /// Without cleaning up the process, because other threads are still running.
    private static func finish(_ signal: String, _ end: () -> Void) -> Never {
        end()
        _exit(signal == "INT" ? ExitCode.interrupted : 0)
    }
}
