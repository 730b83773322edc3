package import HeraldJSON
import HeraldRuntime
import Synchronization

/// Publishes the events that programs have published with SQL, in transactions of their own: reads them on a reader's thread,
/// validates them, and has the writer move them into the log.
///
/// The writer notifies it when its periodic read of the store has found some. While there were some within a second, it reads
/// again every 20 ms. Any thread.
package final class SubmissionTask: Sendable {
    /// Checks the data of an event with the schema of its type.
    /// - Returns: the violations for which the event is refused.
    package typealias Check =
        @Sendable (EventDraft, JSONValue, any StoreReader, inout WorkBudget) throws(StoreError) -> [FieldError]

    private static let events = 500
    /// Nanoseconds.
    private static let watchTime: Int64 = 1_000_000_000
    private static let pauseMilliseconds = 20

    private struct State {
        var isBusy = false
        /// Until then it reads by itself, in monotonic nanoseconds.
        var watchesUntil: Int64 = 0
        var check: Check?
    }

    private let state = Mutex(State())
    private let readers: ReaderPool
    private let intake: Intake
    private let clock: Clock
    /// Whether this node publishes them.
    private let isResponsible: @Sendable () -> Bool
    private let after: @Sendable (_ milliseconds: Int, @escaping @Sendable () -> Void) -> Void

    init(
        readers: ReaderPool, intake: Intake, clock: Clock, isResponsible: @escaping @Sendable () -> Bool,
        after: @escaping @Sendable (_ milliseconds: Int, @escaping @Sendable () -> Void) -> Void
    ) {
        self.readers = readers
        self.intake = intake
        self.clock = clock
        self.isResponsible = isResponsible
        self.after = after
    }

    /// - Parameter check: called on a reader's thread.
    package func use(check: @escaping Check) { state.withLock { $0.check = check } }

    /// There may be events.
    func run() {
        guard isResponsible() else { return }
        let isFree = state.withLock { state in
            defer { state.isBusy = true }
            return !state.isBusy
        }
        if isFree, !readers.submit(app: nil, { [self] in take($0) }) { ended(found: 0) }
    }

    private func take(_ reader: Result<any StoreReader, StoreError>) {
        let check = state.withLock { $0.check }
        let checked = readers.found(reader) { reader throws(StoreError) in
            try Self.checked(reader.submissions(limit: Self.events, maxBytes: Intake.batchBytes), reader, check)
        }
        guard let entries = checked, !entries.isEmpty else { return ended(found: 0) }
        let write = SubmissionWrite(entries: entries) { [weak self] isCommitted in
            self?.ended(found: isCommitted ? entries.count : 0)
        }
        if intake.submit(write) != nil { ended(found: 0) }
    }

    /// Validates events, of each app at most as many as the work of one request allows.
    static func checked(
        _ found: [Submission], _ reader: any StoreReader, _ check: Check?
    ) throws(StoreError) -> [(submission: Submission, entry: SubmissionWrite.Entry)] {
        var budgets: [AppKey: WorkBudget] = [:]
        var entries: [(submission: Submission, entry: SubmissionWrite.Entry)] = []
        for submission in found {
            let before = budgets[submission.app]
            if before?.isSpent == true { continue }
            var entry = Self.entry(submission)
            if let check, case .valid(let draft) = entry, let document = try? JSONDocument(parsing: submission.data) {
                var budget = before ?? WorkBudget()
                let problems = try check(draft, document.root, reader, &budget)
                budgets[submission.app] = budget
                if budget.isSpent {
                    // The next call checks this event first.
                    if before != nil { continue }
                    entry = .refused(HubError.budgetExceeded.description)
                } else if !problems.isEmpty {
                    entry = .refused(problems.text)
                }
            }
            entries.append((submission, entry))
        }
        return entries
    }

    private static func entry(_ submission: Submission) -> SubmissionWrite.Entry {
        let event = Event(
            app: submission.app, id: submission.id, type: submission.type, subject: submission.subject,
            time: submission.deliverAt ?? submission.time, data: submission.data)
        let draft = EventDraft(event: event, mayExist: true, bringsTime: false, deliverAt: submission.deliverAt)
        var (values, errors) = (PublicationLimits.maxValues, [FieldError]())
        guard let checked = draft.checked(app: submission.app, at: "", values: &values, &errors) else {
            return .refused(errors.text)
        }
        return .valid(checked)
    }

    private func ended(found: Int) {
        let now = clock.monotonic()
        let mayContinue = state.withLock { state in
            state.isBusy = false
            if found > 0 { state.watchesUntil = now + Self.watchTime }
            return now < state.watchesUntil
        }
        guard mayContinue else { return }
        if found == Self.events { return run() }
        after(Self.pauseMilliseconds) { [weak self] in self?.run() }
    }
}
