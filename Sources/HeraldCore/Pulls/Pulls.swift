import Delegation
import HeraldDelivery
package import HeraldModel
import HeraldRuntime
import Synchronization

/// The pulls of all pull delegates on this node: a delegate of the multicast, called when events become durable.
///
/// The pulls of one delegate are served one after the other, so that they do not compete; those of different delegates at the
/// same time. A pull that finds nothing waits. A published event wakes the pulls of the delegates that name its type.
///
/// Any thread; the lock guards the queues.
package final class Pulls: EventDelegate, PullObserver {
    /// The result of a pull.
    package struct Run: Sendable {
        /// `nil` if there are no events.
        package var lease: PullLease?
        /// In the order of the log.
        package var events: [(event: LoggedEvent, attempt: Int)] = []
        /// There is more.
        package var hasMore = false
        /// The ordering of the delegate when the lease began; `nil` without a lease.
        package var ordering: WebhookSettings.Ordering?
    }

    /// Why nothing was handed out.
    package enum Failure: Error, Sendable {
        /// Too many reads wait, or too many pulls compete.
        case busy
        case hub(HubError)
    }

    package struct Request: Sendable {
        let app: AppKey
        let delegateID: String
        let limit: Int
        /// `nil` for the delegate's own.
        let ackSeconds: Int?
        /// How long it waits for events, ≥ 0.
        let seconds: Int
        /// A lease that is acknowledged before anything is handed out, in the same transaction if there are events.
        let acknowledges: String?
        /// Whether its lease waits for room in the queue of writes; otherwise it fails with `.busy` if there is none.
        let waitsForRoom: Bool
        /// Calls its closure with whether the client still waits, before a pull that has waited is served.
        let isAwaited: @Sendable (@escaping @Sendable (Bool) -> Void) -> Void
        /// Whether its consumer gets no result any more, so that events would only be held back.
        let isAbandoned: @Sendable () -> Bool
        let completion: @Sendable (Result<Run, Failure>) -> Void

        /// - Parameters:
        ///   - isAwaited: called on some thread; it may call its closure later, on any thread.
        ///   - isAbandoned: called on some thread; must not wait.
        ///   - completion: called once on some thread; must not wait.
        package init(
            app: AppKey = .default, delegateID: String, limit: Int, ackSeconds: Int? = nil, seconds: Int,
            acknowledges: String? = nil, waitsForRoom: Bool = false,
            isAwaited: @escaping @Sendable (@escaping @Sendable (Bool) -> Void) -> Void = { $0(true) },
            isAbandoned: @escaping @Sendable () -> Bool = { false },
            completion: @escaping @Sendable (Result<Run, Failure>) -> Void
        ) {
            self.app = app
            self.delegateID = delegateID
            self.limit = limit
            self.ackSeconds = ackSeconds
            self.seconds = seconds
            self.acknowledges = acknowledges
            self.waitsForRoom = waitsForRoom
            self.isAwaited = isAwaited
            self.isAbandoned = isAbandoned
            self.completion = completion
        }
    }

    private struct Pull: Sendable {
        let request: Request
        let key: DelegateKey
        /// When it ends, on the monotonic clock.
        let deadline: Int64
        /// `nil` once it is acknowledged.
        var acknowledges: String?
        var tries = 0
    }

    /// The pulls of one delegate, and the result of its last search.
    private struct Line {
        var queue: [Pull] = []
        var isBusy = false
        /// Something has come while it was busy.
        var isWoken = false
        /// For this version of the delegate: nothing matched from the first position, that of the lane, up to the second one.
        var searched: (version: Int64, from: LogPosition, to: LogPosition)?
        /// When its pulls are woken, on the wall clock.
        var timer: Int64?
        var waiting = 0
    }

    private struct State {
        var lines: [DelegateKey: Line] = [:]
        var routes = PullRoutes()
        /// The consumers have left: before a pull waits, `isAwaited` is called.
        var isEnding = false
    }

    /// How often a proposal may be out of date before a pull gives up.
    private static let maxTries = 64
    /// The milliseconds between two searches of a waiting pull for events that other processes have returned.
    private static let interval: Int64 = 1_000

    private let hub: Hub
    private let state = Mutex(State())
    private let waiting: LongPolls<DelegateKey, Pull>
    /// The pulls that wait: without any, publishing costs nothing.
    private let count = Atomic(0)

    package init(hub: Hub) {
        self.hub = hub
        let expired = Expiry()
        waiting = LongPolls(hub) { expired.pulls?.end($0) }
        expired.pulls = self
        hub.pullObservers.addDelegate(self)
    }

    private final class Expiry: Sendable {
        private let held = Mutex<WeakPulls>(WeakPulls())
        private struct WeakPulls { weak var pulls: Pulls? }
        var pulls: Pulls? {
            get { held.withLock { $0.pulls } }
            set { held.withLock { $0.pulls = newValue } }
        }
    }

    /// The number of delegates of which something is kept, and of the pulls that wait.
    var kept: (lines: Int, waiting: Int) {
        state.withLock { state in (state.lines.count, state.lines.values.reduce(0) { $0 + $1.waiting }) }
    }

    // MARK: Pulling

    package func pull(_ request: Request) {
        guard let delegate = hub.committed.registry.delegate(request.app, id: request.delegateID) else {
            return request.completion(.failure(.hub(.noDelegate(request.delegateID))))
        }
        guard delegate.settings.kind == .pull else {
            return request.completion(.failure(.hub(.wrongKind(delegate.id, .webhook))))
        }
        let deadline = hub.clock.monotonic() + Int64(request.seconds) * 1_000_000_000
        enqueue(
            Pull(request: request, key: delegate.key, deadline: deadline, acknowledges: request.acknowledges))
    }

    private func enqueue(_ pull: Pull) {
        let begins = state.withLock { state in
            state.lines[pull.key, default: Line()].queue.append(pull)
            return state.lines[pull.key]?.isBusy == false
        }
        if begins { serve(pull.key) }
    }

    /// Serves the next pull of a delegate, unless one is being served.
    private func serve(_ key: DelegateKey) {
        // A loop: many may fail one after the other.
        while let (pull, line) = next(of: key), let failure = start(pull, line) {
            state.withLock { $0.lines[key]?.isBusy = false }
            pull.request.completion(.failure(failure))
        }
    }

    /// `nil` if there is none, or one is being served.
    private func next(of key: DelegateKey) -> (Pull, Line)? {
        state.withLock { state in
            // Removed, and below without its queue: with a second reference, each change would copy the queue.
            guard state.lines[key]?.isBusy == false, var line = state.lines.removeValue(forKey: key) else { return nil }
            if line.queue.isEmpty {
                // Nothing is kept for a delegate that was removed.
                let isKept = line.timer != nil || line.searched != nil
                if line.waiting > 0 || isKept && hub.committed.registry.delegate(key: key) != nil {
                    state.lines[key] = line
                }
                return nil
            }
            line.isBusy = true
            line.isWoken = false
            let pull = line.queue.removeFirst()
            state.lines[key] = line
            line.queue = []
            return (pull, line)
        }
    }

    /// - Returns: why it failed at once; `nil` if a reader has it.
    private func start(_ pull: Pull, _ line: Line) -> Failure? {
        guard let delegate = hub.committed.registry.delegate(key: pull.key) else {
            return .hub(.noDelegate(pull.request.delegateID))
        }
        guard delegate.status == .active else { return .hub(.delegatePaused(id: delegate.id)) }
        let searched = line.searched.flatMap { $0.version == delegate.version ? ($0.from, $0.to) : nil }
        let scan = PullScan(
            hub: hub, delegate: delegate, limit: pull.request.limit,
            ackSeconds: pull.request.ackSeconds ?? delegate.settings.ackSeconds, acknowledges: pull.acknowledges,
            searched: searched)
        let isTaken = hub.read(app: delegate.app) { [weak self] reader in
            do throws(StoreError) {
                let found = try scan.run(try reader.get())
                self?.found(found, pull, delegate)
            } catch {
                self?.hub.requestFailed(error)
                self?.finish(pull, .failure(.hub(.store(error))))
            }
        }
        return isTaken ? nil : .busy
    }

    /// A reader's thread.
    private func found(_ found: PullScan.Result?, _ pull: Pull, _ delegate: WebhookDelegate) {
        guard let found else { return finish(pull, .failure(.hub(.noDelegate(delegate.id)))) }
        guard let proposal = found.proposal else {
            let isWoken = state.withLock { state -> Bool in
                guard var line = state.lines[pull.key] else { return false }
                line.searched = (delegate.version, found.start, found.searched)
                state.lines[pull.key] = line
                return line.isWoken
            }
            if let lease = pull.acknowledges { return acknowledge(lease, pull, delegate) }
            if isWoken || found.hasMore { return again(pull) }
            return wait(pull, delegate, since: found.head, until: nextSearch(found))
        }
        // A silent store may have responded after many consumers have left.
        if pull.request.isAbandoned() {
            return pull.acknowledges.map { acknowledge($0, pull, delegate) } ?? finish(pull, .success(Run()))
        }
        let write = PullWrite(app: delegate.app, delegateID: delegate.id, action: .claim(proposal)) {
            [weak self] result in self?.claimed(result, found, pull, delegate)
        }
        hub.submit(write, pull.request.waitsForRoom ? WriteTicket() : nil)
    }

    /// Acknowledges the lease of a pull that has found nothing to hand out, and searches again.
    private func acknowledge(_ lease: String, _ pull: Pull, _ delegate: WebhookDelegate) {
        let action = PullWrite.Action.acknowledge(lease: lease, failed: [])
        let write = PullWrite(app: delegate.app, delegateID: delegate.id, action: action) { [weak self] result in
            var pull = pull
            pull.acknowledges = nil
            self?.written(result, pull)
        }
        hub.submit(write)
    }

    /// A write has handed nothing out.
    private func written(_ result: WriteResult<PullWrite.Outcome>, _ pull: Pull) {
        switch result {
        case .done(let outcome):
            if let error = outcome.error { finish(pull, .failure(.hub(error))) } else { again(pull) }
        case .refused(let refusal): finish(pull, .failure(.hub(refusal)))
        case .replayed: finish(pull, .failure(.busy))
        }
    }

    /// The writer's thread.
    private func claimed(
        _ result: WriteResult<PullWrite.Outcome>, _ found: PullScan.Result, _ served: Pull, _ delegate: WebhookDelegate
    ) {
        var pull = served
        // Of the results that do not end the pull, each has acknowledged the lease.
        pull.acknowledges = nil
        switch result {
        case .done(.claimed(let lease)):
            state.withLock { $0.lines[pull.key]?.searched = nil }
            // Events that were erased after the search are in no lease.
            var parts = found.parts
            if parts.count != lease.entries.count {
                let held = Set(lease.entries.map(\.event))
                parts.removeAll { !held.contains($0.logged.sequence) }
            }
            let events = parts.map { ($0.logged, $0.attempt) }
            let ordering = delegate.settings.ordering
            finish(
                pull, .success(Run(lease: lease, events: events, hasMore: found.hasMore, ordering: ordering)))
        case .done(.isFull(let end)):
            wait(
                pull, delegate, since: .max, until: min(end, hub.clock.wall() + Self.interval))
        case .done(.moved(let lane, let hasEnded)):
            let proposal = found.proposal
            again(
                pull,
                hasAdvanced: proposal.map { $0.entries.isEmpty && $0.to > $0.from && lane.position == $0.to } ?? false,
                hasEnded: hasEnded, hasMore: found.hasMore)
        default: written(result, pull)
        }
    }

    /// Releases a lease whose events its consumer does not get: it would hold them back until its end.
    /// - Parameter then: called afterwards, also if the release failed.
    package func release(
        _ lease: PullLease, of delegateID: String, app: AppKey = .default, then: @escaping @Sendable () -> Void
    ) {
        let write = PullWrite(app: app, delegateID: delegateID, action: .release(lease: lease.id)) { _ in then() }
        hub.submit(write, WriteTicket())
    }

    /// Makes the proposal again, on what is stored now.
    /// - Parameters:
    ///   - hasAdvanced: nothing matched in a part of the log, which is not searched again.
    ///   - hasEnded: leases or rows have ended, so that there are fewer.
    private func again(_ pull: Pull, hasAdvanced: Bool = false, hasEnded: Bool = false, hasMore: Bool = false) {
        var pull = pull
        pull.tries = hasAdvanced || hasEnded ? 0 : pull.tries + 1
        if pull.tries > Self.maxTries { return finish(pull, .failure(.busy)) }
        if hasAdvanced, pull.deadline <= hub.clock.monotonic() { return finish(pull, .success(Run(hasMore: hasMore))) }
        state.withLock { state in
            state.lines[pull.key]?.isBusy = false
            state.lines[pull.key]?.queue.insert(pull, at: 0)
        }
        serve(pull.key)
    }

    private func finish(_ pull: Pull, _ result: Result<Run, Failure>) {
        state.withLock { $0.lines[pull.key]?.isBusy = false }
        pull.request.completion(result)
        serve(pull.key)
    }

    // MARK: Waiting

    private func end(_ pull: Pull) {
        left(pull.key)
        pull.request.completion(.success(Run()))
    }

    /// The time of the next search for a pull that has found nothing, in milliseconds since 1970 UTC; `nil` for none.
    private func nextSearch(_ found: PullScan.Result) -> Int64? {
        // What other processes return is not announced.
        found.nextDue.map { hub.canCatchUp ? min($0, hub.clock.wall() + Self.interval) : $0 }
    }

    /// Lets a pull wait that has found nothing. Those behind it wait too if nothing has come since its search.
    /// - Parameter head: the end of the log when the search began; `.max` if no later event could be handed out.
    private func wait(_ pull: Pull, _ delegate: WebhookDelegate, since head: LogPosition, until due: Int64?) {
        let now = hub.clock.monotonic()
        let (pulls, timer, isWoken) = state.withLock { state -> ([Pull], Int64?, Bool) in
            guard var line = state.lines[pull.key] else { return ([pull], nil, false) }
            var pulls = [pull]
            if hub.head <= head, !line.isWoken {
                // One that acknowledges a lease does that first.
                pulls += line.queue.filter { $0.acknowledges == nil }
                line.queue.removeAll { $0.acknowledges == nil }
            }
            let patient = pulls.count { $0.deadline > now }
            count.add(patient, ordering: .sequentiallyConsistent)
            line.waiting += patient
            var timer: Int64?
            if patient > 0, let due, due < line.timer ?? .max {
                line.timer = due
                timer = due
            }
            if patient > 0 { state.routes.add(delegate) }
            state.lines[pull.key] = line
            return (pulls, timer, line.isWoken)
        }
        for var pull in pulls {
            pull.tries = 0
            if pull.deadline > now {
                waiting.add(pull, of: pull.key, until: pull.deadline)
            } else {
                pull.request.completion(.success(Run()))
            }
        }
        if let timer { search(pull.key, at: timer) }
        let isWokenSince = state.withLock { state in
            state.lines[pull.key]?.isBusy = false
            return isWoken || state.isEnding || state.lines[pull.key]?.isWoken == true
        }
        // What came in the meantime did not find it in the list.
        if isWokenSince || hub.head > head { wake(pull.key) }
        serve(pull.key)
    }

    /// - Parameter time: milliseconds since 1970 UTC.
    private func search(_ key: DelegateKey, at time: Int64) {
        let delay = min(max(1, time - hub.clock.wall()), 3_600_000)
        hub.after(milliseconds: Int(delay)) { [weak self] in
            self?.state.withLock { state in
                if state.lines[key]?.timer == time { state.lines[key]?.timer = nil }
            }
            self?.wake(key)
        }
    }

    /// A pull does not wait any more.
    private func left(_ key: DelegateKey) {
        count.subtract(1, ordering: .relaxed)
        state.withLock { state in
            guard var line = state.lines[key] else { return }
            line.waiting -= 1
            if line.waiting == 0 { state.routes.remove(key) }
            // The search at the removal of a delegate may have found this pull waiting still.
            let isKept = line.waiting > 0 || line.isBusy || !line.queue.isEmpty
            state.lines[key] = isKept || hub.committed.registry.delegate(key: key) != nil ? line : nil
        }
    }

    /// Searches again for the pulls of a delegate that wait. Any thread.
    private func wake(_ key: DelegateKey) {
        let isAwaited = state.withLock { state in
            state.lines[key]?.isWoken = true
            return state.lines[key]?.waiting ?? 0 > 0
        }
        guard isAwaited else { return }
        for pull in waiting.take(of: key) {
            left(key)
            // A lease without a consumer would hold its events back.
            pull.request.isAwaited { [weak self] isAwaited in
                if isAwaited { self?.enqueue(pull) } else { pull.request.completion(.success(Run())) }
            }
        }
    }

    /// Ends all pulls that wait, and those that would. `isAwaited` says `false` for each from here on. Any thread.
    package func endAll() {
        let keys = state.withLock { state in
            state.isEnding = true
            return Array(state.lines.keys)
        }
        for key in keys { wake(key) }
    }

    /// The writer's thread.
    package func mayHaveEvents(_ delegate: DelegateKey) {
        wake(delegate)
        if hub.committed.registry.delegate(key: delegate) == nil { serve(delegate) }
    }

    /// The writer's thread.
    package func published(_ batch: EventBatch) {
        if count.load(ordering: .sequentiallyConsistent) == 0 { return }
        let woken = state.withLock { state in batch.events.flatMap { state.routes.take(for: $0) } }
        for key in woken { wake(key) }
    }
}
