package import HeraldJSON
package import HeraldModel
import HeraldRuntime
import Synchronization

/// Publishes the events that programs have published with SQL, in transactions of their own: reads them on a reader's thread,
/// validates them, and has the writer move them into the log.
///
/// The writer notifies it when its periodic read of the store has found some. While there were some within a second, it reads
/// again every 20 ms. The apps take turns: each read continues behind the app with which the one before it ended. Any thread.
package final class SubmissionTask: Sendable {
    /// Checks the data of an event with the schema of its type.
    /// - Returns: the violations for which the event is refused.
    package typealias Check =
        @Sendable (EventDraft, JSONValue, any StoreReader, inout WorkBudget) throws(StoreError) -> [FieldError]

    /// Nanoseconds.
    private static let watchTime: Int64 = 1_000_000_000
    private static let pauseMilliseconds = 20

    private struct State {
        var isBusy = false
        /// Until then it reads by itself, in monotonic nanoseconds.
        var watchesUntil: Int64 = 0
        /// The app behind which the next read begins: that of the last event that was checked, or else read.
        var lastApp = AppKey(rawValue: 0)
        /// The apps whose checks were too much for the last read. Those of the others come first in the next one.
        var expensive: Set<AppKey> = []
        var check: Check?
    }

    private let state = Mutex(State())
    private let readers: ReaderPool
    private let intake: Intake
    private let clock: Clock
    /// The maximum number of events, and of apps, of one read.
    private let limit: Int
    /// Whether this node publishes them.
    private let isResponsible: @Sendable () -> Bool
    private let after: @Sendable (_ milliseconds: Int, @escaping @Sendable () -> Void) -> Void

    init(
        readers: ReaderPool, intake: Intake, clock: Clock, limit: Int = 500,
        isResponsible: @escaping @Sendable () -> Bool,
        after: @escaping @Sendable (_ milliseconds: Int, @escaping @Sendable () -> Void) -> Void
    ) {
        self.readers = readers
        self.intake = intake
        self.clock = clock
        self.limit = limit
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
        let (check, expensive, app) = state.withLock { ($0.check, $0.expensive, $0.lastApp) }
        let checked = readers.found(reader) { reader throws(StoreError) in
            let found = try reader.submissions(after: app, limit: limit, maxBytes: Intake.batchBytes)
            if let last = found.last { state.withLock { $0.lastApp = last.app } }
            return try Self.checked(found, reader, last: expensive, check)
        }
        state.withLock { state in
            state.expensive = checked?.expensive ?? []
            if let last = checked?.entries.last { state.lastApp = last.submission.app }
        }
        guard let entries = checked?.entries, !entries.isEmpty else { return ended(found: 0) }
        let write = SubmissionWrite(entries: entries) { [weak self] isCommitted in
            self?.ended(found: isCommitted ? entries.count : 0)
        }
        if intake.submit(write) != nil { ended(found: 0) }
    }

    /// The budgets of one read, for the apps together.
    private static let budgetsPerRead = 4

    /// Validates events, of each app at most as many as the work of one request allows.
    /// - Parameter last: apps whose events come after those of the others.
    /// - Throws: also `unreadable`, if that alone keeps all of them.
    static func checked(
        _ found: [Submission], _ reader: any StoreReader, last: Set<AppKey> = [], _ check: Check?
    ) throws(StoreError) -> (
        entries: [(submission: Submission, entry: SubmissionWrite.Entry)], expensive: Set<AppKey>
    ) {
        var budgets: [AppKey: WorkBudget] = [:]
        var left = budgetsPerRead * WorkBudget.stepsPerRequest
        var unreadable: [AppKey: StoreError] = [:]
        var entries: [(submission: Submission, entry: SubmissionWrite.Entry)] = []
        for submission in found.filter({ !last.contains($0.app) }) + found.filter({ last.contains($0.app) }) {
            let app = submission.app
            let before = budgets[app]
            if left <= 0 { break }
            if before?.isSpent == true || unreadable[app] != nil { continue }
            var entry = Self.entry(submission)
            if let check, case .valid(let draft) = entry, let document = draft.event.document {
                var budget = before ?? WorkBudget()
                let problems: [FieldError]
                do throws(StoreError) {
                    problems = try check(draft, document.root, reader, &budget)
                } catch {
                    // The record of the type. Only its app waits until it is repaired.
                    guard case .unreadable = error else { throw error }
                    unreadable[app] = error
                    continue
                }
                left -= (before?.left ?? WorkBudget.stepsPerRequest) - budget.left
                budgets[app] = budget
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
        if entries.isEmpty, let error = unreadable.values.first { throw error }
        return (entries, Set(budgets.filter { $0.value.isSpent }.keys))
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
        if found == limit { return run() }
        after(Self.pauseMilliseconds) { [weak self] in self?.run() }
    }
}
