import HeraldModel
import HeraldRuntime
import Synchronization

/// The queue of writes for the writer. Bounded: when it is full, a write with a `WriteTicket` waits for room, in its turn, and a
/// write without one is refused, to be repeated later.
final class Intake: Sendable {
    /// Rare cases are indirect, so that a publication, the most frequent case, takes one word and is copied like a
    /// reference.
    enum Submission: Sendable {
        case publish(Publication)
        /// A checkpoint with notices may change the registry, and is the last submission of its transaction.
        indirect case checkpoint(Checkpoint, answer: @Sendable (Bool) -> Void)
        indirect case command(any StoreCommand)

        /// The transaction that it needs.
        var kind: TransactionKind {
            switch self {
            case .publish(let publication):
                publication.schedules || publication.comparesStatus ? .deciding : .publishing
            case .checkpoint(let checkpoint, _): checkpoint.notices.isEmpty ? .recording : .deciding
            case .command: .deciding
            }
        }

        /// The app whose request it is; `nil` if it is none.
        var app: AppKey? {
            switch self {
            case .publish(let publication): publication.app
            case .checkpoint: nil
            case .command(let command): (command as? any RequestCommand)?.app
            }
        }

        /// The bytes of the attempts that it records.
        var attemptBytes: Int {
            guard case .checkpoint(let checkpoint, _) = self else { return 0 }
            return checkpoint.attempts.reduce(0) { $0 + $1.storedBytes }
        }

        /// Whether it was withdrawn, and completed.
        var isWithdrawn: Bool {
            guard case .publish(let publication) = self else { return false }
            return publication.ticket?.isWithdrawn ?? false
        }

        /// Whether a caller waits for the result.
        var isRequest: Bool {
            switch self {
            case .publish: true
            case .checkpoint: false
            case .command(let command): command is any RequestCommand
            }
        }

        /// Whether it is one step of a long task.
        var isStep: Bool {
            guard case .command(let command) = self else { return false }
            return command.isStep
        }
    }

    /// The maximum number of events, and of their bytes, in one transaction (which takes at least one submission).
    static let batchEvents = 1024
    static let batchBytes = 4 << 20

    /// The minimum for a transaction while more submissions are being enqueued.
    static let minBatchEvents = 32
    private static let minBatchBytes = 256 << 10

    private struct Queue {
        var submissions: [Submission] = []
        /// Steps of long tasks, which take turns with the submissions, and those of an app with those of others.
        var steps = TurnQueue<AppKey, any StoreCommand>()
        var isTurnOfStep = false
        var events = 0
        var bytes = 0
        /// The part of the requests of each app.
        var parts = IntakeParts()
        var refusals = 0
        /// The types of waiting commands of which one at a time is enough.
        var singles: Set<ObjectIdentifier> = []
        /// Writes that wait for room. Not empty: the queue is full.
        var line = WaitingLine()
        var acceptsPublications = true
        var isEnded = false
        /// The writer sleeps or is about to: a submission must wake it.
        var writerSleeps = false
        /// The requests to read the commits of other processes, which the writer completes afterwards.
        var mustCatchUp = false
        var catchUps: [@Sendable (StoreError?) -> Void] = []
        /// All submissions came by `enqueue`: more follow, and then `flush`.
        var isFilling = false

        mutating func add(_ submission: Submission) {
            if case .command(let command) = submission, command.isStep {
                steps.append(command, of: (command as? any RequestCommand)?.app ?? .default)
            } else {
                submissions.append(submission)
            }
        }

        /// One step of a long task, if it is its turn.
        mutating func takeStep(_ mayTakeSteps: Bool) -> Submission? {
            guard mayTake(mayTakeSteps), isTurnOfStep || submissions.isEmpty, let step = steps.takeFirst() else {
                isTurnOfStep = true
                return nil
            }
            isTurnOfStep = false
            switch type(of: step).admission {
            case .bounded: count(.command(step), events: -1, bytes: 0)
            case .always: break
            case .single: singles.remove(ObjectIdentifier(type(of: step)))
            }
            return .command(step)
        }

        /// Adds the writes of the line for which there is room.
        mutating func admit(maxEvents: Int, maxBytes: Int) {
            while let next = line.first(), hasRoom(next.events, next.bytes, maxEvents: maxEvents, maxBytes: maxBytes) {
                line.removeFirst()
                // A publication can be withdrawn until the writer takes it (`cut`).
                if case .command = next.submission, !next.ticket.take() { continue }
                count(next.submission, events: next.events, bytes: next.bytes)
                isFilling = false
                add(next.submission)
            }
        }

        /// A write that is larger than the queue is admitted when nothing else waits.
        func hasRoom(_ events: Int, _ bytes: Int, maxEvents: Int, maxBytes: Int) -> Bool {
            (self.events + events <= maxEvents || self.events == 0)
                && (self.bytes + bytes <= maxBytes || self.bytes == 0)
        }

        /// Whether there is room beyond the limits, in the quarter that is kept for apps of which little waits: so one app
        /// that publishes more than the disk takes leaves room for the requests of others.
        func hasReserve(_ submission: Submission, _ events: Int, _ bytes: Int, maxEvents: Int, maxBytes: Int) -> Bool {
            guard let app = submission.app else { return false }
            let own = parts[app]
            return own.events + events <= maxEvents / 8 && own.bytes + bytes <= maxBytes / 8
                && self.events + events <= maxEvents + maxEvents / 4 && self.bytes + bytes <= maxBytes + maxBytes / 4
        }

        mutating func count(_ submission: Submission, events: Int, bytes: Int) {
            self.events += events
            self.bytes += bytes
            if let app = submission.app { parts[app] += (events, bytes) }
        }

        /// Whether the writer is to take the submissions.
        var isReady: Bool { !isFilling || events >= Intake.minBatchEvents || bytes >= Intake.minBatchBytes }

        var isEmpty: Bool { submissions.isEmpty && steps.isEmpty }

        /// A hub that stops commits the steps that wait, at once.
        func mayTake(_ mayTakeSteps: Bool) -> Bool { mayTakeSteps || !acceptsPublications || isEnded }

        /// Whether there is something to commit.
        func hasWork(_ mayTakeSteps: Bool) -> Bool { !submissions.isEmpty || !steps.isEmpty && mayTake(mayTakeSteps) }
    }

    private let queue = Mutex(Queue())
    private let wakeup = Semaphore()
    private let maxEvents: Int
    private let maxBytes: Int

    /// - Parameters:
    ///   - maxEvents, maxBytes: the limits of what may wait.
    init(maxEvents: Int = 20_000, maxBytes: Int = 64 << 20) {
        self.maxEvents = maxEvents
        self.maxBytes = maxBytes
    }

    /// Any thread. Returns why the publication was refused.
    func submit(_ publication: Publication) -> HubError? {
        add(publication, isFilling: false)
    }

    /// Enqueues one of several publications: the writer may wait for the others until `flush`, which the caller
    /// must call. A transaction by itself costs as much as ten events.
    func enqueue(_ publication: Publication) -> HubError? {
        add(publication, isFilling: true)
    }

    private func add(_ publication: Publication, isFilling: Bool) -> HubError? {
        add(
            .publish(publication), events: publication.drafts.count, bytes: publication.bytes, isFilling: isFilling,
            ticket: publication.ticket
        ) { { publication.completion(.refused($0)) } }
    }

    /// Any thread. Call it after the last `enqueue`.
    func flush() {
        let mustWake = queue.withLock { queue in
            queue.isFilling = false
            return !queue.isEmpty && Self.wakes(&queue)
        }
        if mustWake { wakeup.signal() }
    }

    /// Any thread. Returns why the command was refused.
    /// - Parameter ticket: lets it wait for room; `nil`: it is refused if there is none.
    func submit<Command: StoreCommand>(_ command: Command, _ ticket: WriteTicket? = nil) -> HubError? {
        switch Command.admission {
        case .bounded:
            return add(.command(command), events: 1, bytes: 0, ticket: ticket) { { command.refuse($0) } }
        case .always: return append(.command(command)) ? nil : .stopping
        case .single:
            let isFirst = queue.withLock { $0.singles.insert(ObjectIdentifier(Command.self)).inserted }
            return !isFirst || append(.command(command)) ? nil : .stopping
        }
    }

    /// Enqueues the next step of a task, instead of the one before: a full queue does not refuse what it has begun.
    /// - Returns: `.stopping` if the hub stops.
    func submitNext<Command: StoreCommand>(_ step: Command) -> HubError? {
        let (taken, mustWake) = queue.withLock { queue -> (Bool, Bool) in
            guard queue.acceptsPublications, !queue.isEnded else { return (false, false) }
            if Command.admission == .bounded { queue.count(.command(step), events: 1, bytes: 0) }
            queue.isFilling = false
            queue.add(.command(step))
            return (true, Self.wakes(&queue))
        }
        if mustWake { wakeup.signal() }
        return taken ? nil : .stopping
    }

    private func add(
        _ submission: Submission, events: Int, bytes: Int, isFilling: Bool = false, ticket: WriteTicket?,
        makeRefuse: () -> @Sendable (HubError) -> Void
    ) -> HubError? {
        // Most writes have no ticket: no closure is allocated for them.
        let waiting = ticket.map { (ticket: $0, refuse: makeRefuse()) }
        let (refusal, mustWake) = queue.withLock { queue -> (HubError?, Bool) in
            guard queue.acceptsPublications else { return (.stopping, false) }
            // A write without a ticket does not overtake those that wait.
            let hasRoom =
                queue.line.isEmpty && queue.hasRoom(events, bytes, maxEvents: maxEvents, maxBytes: maxBytes)
            if !hasRoom, waiting == nil,
                !queue.hasReserve(submission, events, bytes, maxEvents: maxEvents, maxBytes: maxBytes)
            {
                queue.refusals += 1
                return (.busy, false)
            }
            // A command that has room can't be withdrawn from here on; a publication can, until the writer takes it.
            let isTaken = if case .command = submission { hasRoom } else { false }
            if let waiting, !(isTaken ? waiting.ticket.take() : waiting.ticket.wait(waiting.refuse)) {
                return (.cancelled, false)
            }
            if !hasRoom, let waiting {
                queue.line.append(
                    .init(
                        submission: submission, events: events, bytes: bytes, ticket: waiting.ticket,
                        refuse: waiting.refuse))
                return (nil, false)
            }
            queue.count(submission, events: events, bytes: bytes)
            queue.isFilling = isFilling && (queue.isFilling || queue.isEmpty)
            queue.add(submission)
            return (nil, Self.wakes(&queue))
        }
        if mustWake { wakeup.signal() }
        return refusal
    }

    /// The checkpoint of a delivery loop. It is always accepted, since each loop has at most one waiting.
    func submit(_ checkpoint: Checkpoint, answer: @escaping @Sendable (Bool) -> Void) {
        append(.checkpoint(checkpoint, answer: answer))
    }

    /// Whether steps of long tasks wait.
    var hasSteps: Bool { queue.withLock { !$0.steps.isEmpty } }

    /// Requests that the writer reads the commits of other processes. All requests while it is busy share
    /// one read. Any thread.
    /// - Parameter answer: called once after it, on the writer's thread, with the error if it has failed; must not wait.
    /// - Returns: `false` if too many wait already, or the writer has ended.
    @discardableResult
    func catchUp(_ answer: (@Sendable (StoreError?) -> Void)? = nil) -> Bool {
        let (taken, mustWake) = queue.withLock { queue in
            if queue.isEnded || answer != nil && queue.catchUps.count >= Self.maxCatchUps { return (false, false) }
            queue.mustCatchUp = true
            if let answer { queue.catchUps.append(answer) }
            defer { queue.writerSleeps = false }
            return (true, queue.writerSleeps)
        }
        if mustWake { wakeup.signal() }
        return taken
    }

    private static let maxCatchUps = 1_000

    /// Lets submissions gather, which do not wake the writer in the meantime; not if they fill a transaction already. The writer's
    /// thread.
    /// - Parameter nanoseconds: at most; none if it is not positive.
    func collect(nanoseconds: Int64) {
        guard nanoseconds > 0 else { return }
        let canGrow = queue.withLock { queue in
            queue.acceptsPublications && queue.events < Self.batchEvents && queue.bytes < Self.batchBytes
        }
        if canGrow { Clock.sleep(nanoseconds: nanoseconds) }
    }

    /// Whether a read was requested, and the requests. The writer's thread.
    func takeCatchUps() -> (isAsked: Bool, answers: [@Sendable (StoreError?) -> Void]) {
        queue.withLock { queue in
            defer { (queue.mustCatchUp, queue.catchUps) = (false, []) }
            return (queue.mustCatchUp, queue.catchUps)
        }
    }

    /// Returns `false` if the writer accepts no more submissions.
    @discardableResult
    private func append(_ submission: Submission) -> Bool {
        let (taken, mustWake) = queue.withLock { queue in
            if queue.isEnded { return (false, false) }
            queue.isFilling = false
            queue.add(submission)
            return (true, Self.wakes(&queue))
        }
        if mustWake { wakeup.signal() }
        return taken
    }

    /// Whether the writer must be woken, which is needed only once, and not while it writes.
    private static func wakes(_ queue: inout Queue) -> Bool {
        guard queue.isReady else { return false }
        defer { queue.writerSleeps = false }
        return queue.writerSleeps
    }

    /// Refuses everything but checkpoints and commands that are always accepted; also the writes that wait for room.
    func refusePublications() {
        let waiting = queue.withLock { queue in
            queue.acceptsPublications = false
            return queue.line.removeAll()
        }
        for entry in waiting where entry.ticket.take() { entry.refuse(.stopping) }
    }

    /// Completes a write with `.cancelled`, unless the writer has taken it. Any thread.
    func withdraw(_ ticket: WriteTicket) {
        if ticket.withdraw() { queue.withLock { $0.line.recordWithdrawal() } }
    }

    /// Lets `take` return `nil` once all submissions are taken.
    func end() {
        queue.withLock { queue in
            queue.isEnded = true
            queue.isFilling = false
        }
        wakeup.signal()
    }

    /// The submissions to commit together next, in order. Waits for submissions for up to `milliseconds` (negative:
    /// without limit), and returns an empty array if there are none, or if a read was requested; `nil` after the end. The
    /// writer's thread.
    /// - Parameter steps: whether it may be the step of a long task.
    func take(milliseconds: Int32 = -1, steps mayTakeSteps: Bool = true) -> [Submission]? {
        var hasWaited = false
        while true {
            let (batch, mustCatchUp, isOver) = queue.withLock { queue in
                var batch: [Submission] = []
                if queue.isReady {
                    // A batch is empty if all of it was withdrawn.
                    repeat {
                        batch = Self.cut(&queue, mayTakeSteps)
                        queue.admit(maxEvents: maxEvents, maxBytes: maxBytes)
                    } while batch.isEmpty && queue.hasWork(mayTakeSteps)
                }
                queue.writerSleeps = batch.isEmpty && !queue.mustCatchUp
                return (batch, queue.mustCatchUp, queue.isEnded)
            }
            if !batch.isEmpty || mustCatchUp { return batch }
            if isOver { return nil }
            if hasWaited && milliseconds >= 0 { return [] }
            wakeup.wait(milliseconds: milliseconds)
            hasWaited = true
        }
    }

    private static func cut(_ queue: inout Queue, _ mayTakeSteps: Bool) -> [Submission] {
        if let step = queue.takeStep(mayTakeSteps) { return [step] }
        var events = 0
        var bytes = 0
        var count = 0
        var isWithdrawn = false
        cutting: for submission in queue.submissions {
            switch submission {
            case .publish(let publication):
                if count > 0 && (events >= batchEvents || bytes >= batchBytes) { break cutting }
                events += publication.drafts.count
                bytes += publication.bytes
                count += 1
                queue.parts[publication.app] -= (publication.drafts.count, publication.bytes)
                if let ticket = publication.ticket, !ticket.take() { isWithdrawn = true }
            case .checkpoint(let checkpoint, _):
                count += 1
                if !checkpoint.notices.isEmpty { break cutting }
            case .command(let command):
                count += 1
                switch type(of: command).admission {
                case .bounded:
                    events += 1
                    if let app = submission.app { queue.parts[app] -= (1, 0) }
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
            return isWithdrawn ? all.filter { !$0.isWithdrawn } : all
        }
        let batch = Array(queue.submissions[..<count])
        queue.submissions.removeFirst(count)
        return isWithdrawn ? batch.filter { !$0.isWithdrawn } : batch
    }
}

/// The length and the limits of the writer's queue.
package struct IntakeDepth: Sendable {
    package let events: Int
    package let bytes: Int
    package let maxEvents: Int
    package let maxBytes: Int
    /// Writes that wait for room.
    package let waiting: Int
    /// The number of requests that were refused because the queue was full, since the process started.
    package let refusals: Int
}

extension Intake {
    var depth: IntakeDepth {
        queue.withLock {
            IntakeDepth(
                events: $0.events, bytes: $0.bytes, maxEvents: maxEvents, maxBytes: maxBytes, waiting: $0.line.count,
                refusals: $0.refusals)
        }
    }
}
