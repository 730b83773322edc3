import HeraldRuntime
import Synchronization

/// What waits for the writer. Bounded: past the bound publishers are told to come back.
final class Intake: Sendable {
    /// The rare ones lie elsewhere, so that a publication, of which there are many, takes one word, copied like a reference.
    enum Submission: Sendable {
        case publish(Publication)
        /// One with notices may change the registry, and is the last of its transaction.
        indirect case checkpoint(Checkpoint, loop: Int, answer: @Sendable (Bool) -> Void)
        indirect case command(any StoreCommand)

        /// Whether somebody is told what became of it.
        var isRequest: Bool {
            switch self {
            case .publish: true
            case .checkpoint: false
            case .command(let command): command is any RequestCommand
            }
        }
    }

    /// Events, and bytes of events, that one transaction takes at most (and at least one submission).
    static let batchEvents = 1024
    static let batchBytes = 4 << 20

    /// So much is worth a transaction while more is being gathered.
    static let minBatchEvents = 32
    private static let minBatchBytes = 256 << 10

    private struct Queue {
        var submissions: [Submission] = []
        var events = 0
        var bytes = 0
        var refusals = 0
        /// Types of commands that wait, of those of which one will do.
        var singles: Set<ObjectIdentifier> = []
        var acceptsPublications = true
        var isEnded = false
        /// The writer sleeps, or is about to: who adds something wakes it.
        var writerSleeps = false
        /// All that waits came by `enqueue`: more is about to come, and then `flush`.
        var isFilling = false

        /// Whether the writer is to take what waits.
        var isReady: Bool { !isFilling || events >= Intake.minBatchEvents || bytes >= Intake.minBatchBytes }
    }

    private let queue = Mutex(Queue())
    private let wakeup: Wakeup
    private let maxEvents: Int
    private let maxBytes: Int

    /// - Parameters:
    ///   - maxEvents, maxBytes: what may wait for the disk.
    init(maxEvents: Int = 20_000, maxBytes: Int = 64 << 20) throws(SystemError) {
        wakeup = try Wakeup()
        self.maxEvents = maxEvents
        self.maxBytes = maxBytes
    }

    /// Any thread. Returns why it was not taken.
    func submit(_ publication: Publication) -> WriteRefusal? {
        add(.publish(publication), events: publication.drafts.count, bytes: publication.bytes)
    }

    /// The same for one of several: the writer may wait for the others until `flush`, which the caller owes. A transaction
    /// costs as much as ten events do, beside them.
    func enqueue(_ publication: Publication) -> WriteRefusal? {
        add(.publish(publication), events: publication.drafts.count, bytes: publication.bytes, isFilling: true)
    }

    /// Any thread. Nothing more is about to come.
    func flush() {
        let mustWake = queue.withLock { queue in
            queue.isFilling = false
            return !queue.submissions.isEmpty && Self.wakes(&queue)
        }
        if mustWake { wakeup.signal() }
    }

    /// Any thread. Returns why it was not taken.
    func submit<Command: StoreCommand>(_ command: Command) -> WriteRefusal? {
        switch Command.admission {
        case .bounded: return add(.command(command), events: 1, bytes: 0)
        case .always: return append(.command(command)) ? nil : .stopping
        case .single:
            let isFirst = queue.withLock { $0.singles.insert(ObjectIdentifier(Command.self)).inserted }
            return !isFirst || append(.command(command)) ? nil : .stopping
        }
    }

    private func add(
        _ submission: Submission, events: Int, bytes: Int, isFilling: Bool = false
    ) -> WriteRefusal? {
        let (refusal, mustWake) = queue.withLock { queue -> (WriteRefusal?, Bool) in
            guard queue.acceptsPublications else { return (.stopping, false) }
            guard queue.events + events <= maxEvents || queue.events == 0,
                queue.bytes + bytes <= maxBytes || queue.bytes == 0
            else {
                queue.refusals += 1
                return (.busy, false)
            }
            queue.events += events
            queue.bytes += bytes
            queue.isFilling = isFilling && (queue.isFilling || queue.submissions.isEmpty)
            queue.submissions.append(submission)
            return (nil, Self.wakes(&queue))
        }
        if mustWake { wakeup.signal() }
        return refusal
    }

    /// A delivery loop's checkpoint: always taken, since each loop has one on its way at most.
    func submit(_ checkpoint: Checkpoint, loop: Int, answer: @escaping @Sendable (Bool) -> Void) {
        append(.checkpoint(checkpoint, loop: loop, answer: answer))
    }

    /// Returns `false` when the writer takes nothing more.
    @discardableResult
    private func append(_ submission: Submission) -> Bool {
        let (taken, mustWake) = queue.withLock { queue in
            if queue.isEnded { return (false, false) }
            queue.isFilling = false
            queue.submissions.append(submission)
            return (true, Self.wakes(&queue))
        }
        if mustWake { wakeup.signal() }
        return taken
    }

    /// Whether the writer is to be woken; one wake is enough. While it writes, it needs none.
    private static func wakes(_ queue: inout Queue) -> Bool {
        guard queue.isReady else { return false }
        defer { queue.writerSleeps = false }
        return queue.writerSleeps
    }

    /// Takes nothing more but checkpoints and commands that are always taken.
    func refusePublications() { queue.withLock { $0.acceptsPublications = false } }

    /// Lets `take` return `nil` once everything is taken.
    func end() {
        queue.withLock { queue in
            queue.isEnded = true
            queue.isFilling = false
        }
        wakeup.signal()
    }

    /// What is to be committed together next, in order; waits until there is something, or for `milliseconds` (negative:
    /// without limit), and then returns nothing. `nil`: it has ended. The writer's thread.
    func take(milliseconds: Int32 = -1) -> [Submission]? {
        var hasWaited = false
        while true {
            let (batch, isOver) = queue.withLock { queue in
                let batch = queue.isReady ? Self.cut(&queue) : []
                queue.writerSleeps = batch.isEmpty
                return (batch, queue.isEnded)
            }
            if !batch.isEmpty { return batch }
            if isOver { return nil }
            if hasWaited && milliseconds >= 0 { return [] }
            wakeup.wait(milliseconds: milliseconds)
            hasWaited = true
        }
    }

    private static func cut(_ queue: inout Queue) -> [Submission] {
        var events = 0
        var bytes = 0
        var count = 0
        cutting: for submission in queue.submissions {
            switch submission {
            case .publish(let publication):
                if count > 0 && (events >= batchEvents || bytes >= batchBytes) { break cutting }
                events += publication.drafts.count
                bytes += publication.bytes
                count += 1
            case .checkpoint(let checkpoint, _, _):
                count += 1
                if !checkpoint.notices.isEmpty { break cutting }
            case .command(let command):
                count += 1
                switch type(of: command).admission {
                case .bounded: events += 1
                case .always: break
                case .single: queue.singles.remove(ObjectIdentifier(type(of: command)))
                }
                if command.endsTransaction { break cutting }
            }
        }
        queue.events -= events
        queue.bytes -= bytes
        if count == queue.submissions.count {
            var all: [Submission] = []
            all.reserveCapacity(count)
            swap(&all, &queue.submissions)
            return all
        }
        let batch = Array(queue.submissions[..<count])
        queue.submissions.removeFirst(count)
        return batch
    }
}

/// What waits for the writer, and what may.
package struct IntakeDepth: Sendable {
    package let events: Int
    package let bytes: Int
    package let maxEvents: Int
    package let maxBytes: Int
    /// Requests that were refused because too much waited, since the process started.
    package let refusals: Int
}

extension Intake {
    var depth: IntakeDepth {
        queue.withLock {
            IntakeDepth(
                events: $0.events, bytes: $0.bytes, maxEvents: maxEvents, maxBytes: maxBytes, refusals: $0.refusals)
        }
    }
}
