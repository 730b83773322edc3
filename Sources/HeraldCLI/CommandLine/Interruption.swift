import Glibc
import HeraldRuntime
import Synchronization

/// Ends a command that runs until it is told to: at Ctrl-C and TERM, between two lines of output and not within one.
final class Interruption: Sendable {
    private let isWriting = Mutex(())

    /// How long a line may take to be written; nobody may read it.
    private static let patience = 50

    /// Takes the signals from now on. To be made before any other thread, on the thread that writes.
    /// - Parameter end: says what there is to say at the end, on a thread of its own.
    init(atEnd end: @escaping @Sendable () -> Void = {}) throws(CommandError) {
        let signals = Signals()
        do throws(SystemError) {
            _ = try Thread(name: "signals") { [self] in
                let signal = signals.waitForStop()
                for _ in 0..<Self.patience {
                    let isOver: Void? = isWriting.withLockIfAvailable { _ in Self.finish(signal, end) }
                    if isOver != nil { return }
                    poll(nil, 0, 10)
                }
                Self.finish(signal, end)
            }
        } catch {
            throw CommandError(description: "No thread can be started: \(error).", exitCode: ExitCode.software)
        }
    }

    /// Does what must not be cut in two, such as to write a line.
    func protect(_ body: () throws(CommandError) -> Void) throws(CommandError) {
        try isWriting.withLock { _ throws(CommandError) in try body() }
    }

    /// Without the rest of the process: other threads are in the middle of something.
    private static func finish(_ signal: String, _ end: () -> Void) -> Never {
        end()
        _exit(signal == "INT" ? ExitCode.interrupted : 0)
    }
}
