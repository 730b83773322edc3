import HeraldModel
import Synchronization

/// Decides whether a write is taken by the writer or withdrawn by its task: exactly one of them gets it. A write with a ticket
/// waits for room in the queue; one without is refused when the queue is full.
///
/// Any thread. The lock is held for a few instructions.
package final class WriteTicket: Sendable {
    private enum State {
        case new
        /// Enqueued. The closure completes the write with a refusal.
        case waiting(refuse: @Sendable (HubError) -> Void)
        case taken
        case withdrawn
    }

    private let state = Mutex(State.new)

    package init() {}

    /// Call it when the write is enqueued.
    /// - Returns: `false` if it was withdrawn before: it must not be enqueued.
    func wait(_ refuse: @escaping @Sendable (HubError) -> Void) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(refuse: refuse)
            return true
        }
    }

    /// From here on it can't be withdrawn.
    /// - Returns: `false` if it was withdrawn.
    func take() -> Bool {
        state.withLock { state in
            if case .withdrawn = state { return false }
            state = .taken
            return true
        }
    }

    var isWithdrawn: Bool {
        state.withLock { state in
            if case .withdrawn = state { true } else { false }
        }
    }

    /// Completes an enqueued write with `.cancelled`. A write that is enqueued later is refused with `.cancelled`, and one that was
    /// taken continues.
    /// - Returns: whether it was enqueued, and is not carried out.
    func withdraw() -> Bool {
        let refuse = state.withLock { state -> (@Sendable (HubError) -> Void)? in
            switch state {
            case .waiting(let refuse):
                state = .withdrawn
                return refuse
            case .new: state = .withdrawn
            case .taken, .withdrawn: break
            }
            return nil
        }
        refuse?(.cancelled)
        return refuse != nil
    }
}

/// The writes that wait for room in the queue, first in, first out. Withdrawn ones are dropped as soon as they are as many as the
/// others, so that they never take more memory than those.
struct WaitingLine {
    struct Entry {
        let submission: Intake.Submission
        let events: Int
        let bytes: Int
        let ticket: WriteTicket
        let refuse: @Sendable (HubError) -> Void
    }

    private var entries: [Entry] = []
    /// The entries before it have left.
    private var start = 0
    private var withdrawn = 0

    var isEmpty: Bool { start == entries.count }
    var count: Int { entries.count - start }

    mutating func append(_ entry: Entry) { entries.append(entry) }

    /// The first entry that was not withdrawn.
    mutating func first() -> Entry? {
        while start < entries.count {
            if !entries[start].ticket.isWithdrawn { return entries[start] }
            removeFirst()
        }
        return nil
    }

    mutating func removeFirst() {
        start += 1
        // Amortized: as many have left as are moved.
        if start * 2 >= entries.count { trim() }
    }

    /// Counts an entry that was withdrawn.
    mutating func recordWithdrawal() {
        withdrawn += 1
        guard withdrawn * 2 >= count else { return }
        trim()
        entries.removeAll { $0.ticket.isWithdrawn }
        withdrawn = 0
    }

    private mutating func trim() {
        entries.removeFirst(start)
        start = 0
    }

    mutating func removeAll() -> [Entry] {
        trim()
        defer { self = WaitingLine() }
        return entries
    }
}
