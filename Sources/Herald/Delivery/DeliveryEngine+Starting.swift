import Runtime

/// Lanes start attempts, each in its turn.
extension DeliveryEngine {
    /// Puts a lane in line when it has something that it may start.
    func enqueue(_ index: Int) {
        guard lanes[index]?.hasWork == true, lanes[index]?.mayStart(now: now) == true else { return }
        ready.append(index)
    }

    /// Lets the lanes in line start attempts, each in its turn. Returns whether nothing is left that could start now.
    func pump() -> Bool {
        var visits = Self.turnBudget
        while hasRoom {
            guard visits > 0 else { return false }
            visits -= 1
            guard let index = ready.next() else { return true }
            if pump(lane: index) { ready.append(index) }
        }
        return true
    }

    /// Returns whether the lane could go on when its turn comes again.
    func pump(lane index: Int) -> Bool {
        var starts = Self.quantum
        var reads = Self.scanBudget
        while starts > 0, reads > 0, hasRoom {
            guard lanes[index]?.mayStart(now: now) == true else { return false }
            if lanes[index]?.prefersRetry == true {
                if !startHeldRetry(lane: index) { return false }
                starts -= 1
                continue
            }
            guard let next = lanes[index]?.next, lanes[index]?.mayTakeNewEvent == true else { return false }
            guard next <= routed else {
                lanes[index]?.catchUp()
                touched(index)
                return lanes[index]?.hasWork == true
            }
            guard let event = event(at: next) else {
                readPage(for: index, at: next)
                return false
            }
            reads -= 1
            lanes[index]?.pass(next)
            touched(index)
            if lanes[index]?.matches(event) == true, lanes[index]?.wants(event, next) == true {
                start(event, next, lane: index)
                starts -= 1
            }
        }
        return true
    }

    func event(at sequence: Sequence) -> Event? {
        if sequence >= recent.first && sequence <= recent.last { return recent[sequence] }
        return pages.event(sequence)
    }

    func readPage(for index: Int, at sequence: Sequence) {
        guard let key = lanes[index]?.delegate.key else { return }
        if let after = pages.want(sequence, for: key) { ports.readPage(after) }
    }

    /// Returns `false` when the event has to be read first; the lane is put in line again when it is there.
    func startHeldRetry(lane index: Int) -> Bool {
        guard let retry = lanes[index]?.held.first else { return true }
        guard let event = event(at: retry.event) else {
            readPage(for: index, at: retry.event)
            return false
        }
        _ = lanes[index]?.startHeldRetry()
        begin(event, retry.event, lane: index, attempts: retry.attempts, isRetry: true)
        return true
    }

    func start(_ event: Event, _ sequence: Sequence, lane index: Int) {
        lanes[index]?.started(sequence)
        touched(index)
        begin(event, sequence, lane: index, attempts: 0, isRetry: false)
    }

    func begin(_ event: Event, _ sequence: Sequence, lane index: Int, attempts: Int, isRetry: Bool) {
        guard let delegate = lanes[index]?.delegate else { return }
        let transfer = Transfer(
            lane: index, delegate: delegate.key, sequence: sequence, event: event, attempts: attempts,
            isRetry: isRetry, startedAt: ports.clock.wall())
        let token: Int
        if let free = freeTransfers.popLast() {
            transfers[free] = transfer
            token = free
        } else {
            transfers.append(transfer)
            token = transfers.count - 1
        }
        openTransfers += 1
        young.start(token, now: now)
        ports.sender.start(Callback(token: token, delegate: delegate, event: event, attempt: attempts + 1))
    }
}
