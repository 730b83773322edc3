import HeraldStore

/// Moves the entries of an outbox to Herald, until a signal ends it. One thread.
struct Drainer {
    private enum Step {
        case moved, empty
        /// The database or Herald is away or busy.
        case away(reason: String, seconds: Int?)
    }

    private let outbox: any Outbox
    private let refusedFile: RefusedFile?
    private let signals: Signals
    private var publisher: OutboxPublisher
    private var refusedCount = 0
    private var isWarned = false
    private var pause = DrainPause()
    /// The maximum number of entries of a read. Fewer while they are large.
    private var limit = 100

    /// The time between two reads of an empty outbox.
    private static let idleMilliseconds = 250
    /// The bytes that the entries of a read should have at most.
    private static let readBytes = 16 << 20
    private static let maxLimit = 1_000

    init(_ outbox: any Outbox, _ client: APIClient, _ refused: RefusedFile?, _ signals: Signals) {
        self.outbox = outbox
        refusedFile = refused
        self.signals = signals
        publisher = OutboxPublisher(client)
    }

    /// - Parameter once: ends when nothing is left.
    mutating func run(once: Bool) throws(CommandError) {
        do throws(CommandError) {
            var isStopped = signals.stop(withinMilliseconds: 0)
            while !isStopped {
                switch try step() {
                case .moved:
                    pause.end()
                    isStopped = signals.stop(withinMilliseconds: 0)
                case .empty:
                    pause.end()
                    isStopped = once || signals.stop(withinMilliseconds: Self.idleMilliseconds)
                case .away(let reason, let seconds):
                    outbox.release()
                    isStopped = signals.stop(withinMilliseconds: pause.next(reason, seconds))
                }
            }
        } catch {
            outbox.release()
            throw CommandError("\(error.description)\nStopped. \(summary)", exitCode: error.exitCode)
        }
        try Output.line(summary)
    }

    private var summary: String {
        let count = publisher.published
        let before = publisher.duplicates == 0 ? "" : ", \(publisher.duplicates) of them before"
        let refused = refusedCount == 0 ? "" : "; \(refusedCount) refused"
        return (count == 1 ? "1 event was published" : "\(count) events were published") + before + refused + "."
    }

    private mutating func step() throws(CommandError) -> Step {
        let entries: [OutboxEntry]
        switch try access({ [limit] outbox throws(OutboxError) in try outbox.next(limit: limit) }) {
        case .success(let found): entries = found
        case .failure(let away): return .away(reason: away.reason, seconds: nil)
        }
        if let warning = outbox.warning, !isWarned {
            isWarned = true
            Output.message("warning: \(warning)\n")
        }
        guard !entries.isEmpty else {
            let isBehind = outbox.isBehind
            outbox.release()
            return isBehind ? .moved : .empty
        }
        let bytes = entries.reduce(0) { $0 + $1.byteCount }
        limit = min(Self.maxLimit, max(1, Self.readBytes / max(1, bytes / entries.count)))

        let refused: [Int: Refusal]
        let before = publisher
        switch try publisher.publish(entries, stopsAtRefused: refusedFile == nil) {
        case .done(let found): refused = found
        case .away(let reason, let seconds):
            // All of them are published again, and counted then.
            publisher = before
            return .away(reason: reason, seconds: seconds)
        }
        let first = refused.min { $0.key < $1.key }
        var count = entries.count
        if let refusedFile {
            try refusedFile.append(refused.sorted { $0.key < $1.key }.map { (entries[$0.key], $0.value) })
            refusedCount += refused.count
        } else if let first {
            count = first.key
        }
        let settled = try access { outbox throws(OutboxError) in try outbox.settle(count) }
        if refusedFile == nil, let refusal = first?.value { throw refusal.error }
        if case .failure(let away) = settled { return .away(reason: away.reason, seconds: nil) }
        return .moved
    }

    private struct Away: Error {
        let reason: String
    }

    private func access<Value>(
        _ body: (any Outbox) throws(OutboxError) -> Value
    ) throws(CommandError) -> Result<Value, Away> {
        do throws(OutboxError) {
            return .success(try body(outbox))
        } catch {
            switch error {
            case .unavailable(let reason): return .failure(Away(reason: "\(outbox.label) was not reached: \(reason)."))
            case .unusable(let reason):
                throw CommandError(reason.printable(), exitCode: ExitCode.noInput)
            }
        }
    }
}

/// The pauses while the database or Herald is away: reported once, and then doubled each time.
private struct DrainPause {
    private static let firstMilliseconds = 250
    private static let longestMilliseconds = 10_000

    private var milliseconds = Self.firstMilliseconds
    private var isAway = false

    /// - Parameter seconds: of `Retry-After`.
    /// - Returns: milliseconds.
    mutating func next(_ reason: String, _ seconds: Int?) -> Int {
        if !isAway {
            isAway = true
            Output.message("\(reason.hasSuffix(".") ? reason : reason + ".") Retrying until it responds.\n")
        }
        // The peer chooses the seconds, so they are bounded first.
        let wanted = min(max(0, seconds ?? 0), Self.longestMilliseconds / 1_000) * 1_000
        let pause = max(milliseconds, wanted)
        milliseconds = min(2 * milliseconds, Self.longestMilliseconds)
        return pause
    }

    mutating func end() {
        if isAway { Output.message("Connected again.\n") }
        self = DrainPause()
    }
}

extension OutboxEntry {
    fileprivate var byteCount: Int {
        switch self {
        case .row(let texts): texts.values.reduce(0) { $0 + $1.count }
        case .message(_, let text): text.count
        }
    }
}

extension Refusal {
    fileprivate var error: CommandError {
        CommandError(
            "The event \(id ?? "without an id") is refused, and stays in the outbox: \(reason).".printable(),
            exitCode: ExitCode.data)
    }
}
