import HeraldRuntime

/// Lanes start attempts, each in its turn.
extension DeliveryEngine {
    /// Puts a lane in line when it has something that it may start, or sets the timer that does so.
    func enqueue(_ index: Int) {
        guard lanes[index]?.ask({ $0.hasWork }) == true else { return }
        if lanes[index]?.ask({ $0.mayStart(now: now) }) == true {
            if mayHaveSlot(index) { standInLine(index) } else { park(index) }
        } else {
            wakeLater(index)
        }
    }

    private func standInLine(_ index: Int) {
        guard let share = lanes[index]?.share else { return }
        apps.append(index, share, isProven: isProven(index))
    }

    /// Whether its receiver has answered, and has not failed since.
    func isProven(_ index: Int) -> Bool { lanes[index]?.ask { $0.flow.breaker.isProven } == true }

    // MARK: Slots

    func mayHaveSlot(_ index: Int) -> Bool { slots.roomForAny > 0 || lanes[index]?.flow.mayTakeReserve == true }

    /// The lane waits until fewer slots are held.
    private func park(_ index: Int) {
        if parked.append(index) { touched(index) }
    }

    /// Puts lanes in line that waited for slots, as many as there are now.
    func leaveParking() {
        var room = slots.roomForAny
        while room > 0, let index = parked.next() {
            touched(index)
            enqueue(index)
            room -= 1
        }
    }

    /// Notes which requests have come to be held.
    func ageSlots() {
        slots.age(now: now, slept: slept) { token in
            guard let transfer = transfers[token], lanes[transfer.lane]?.delegate.key == transfer.delegate else {
                return
            }
            lanes[transfer.lane]?.flow.held += 1
        }
    }

    // MARK: Starting

    /// What keeps the lane is only time.
    private func wakeLater(_ index: Int) {
        guard let time = lanes[index]?.ask({ $0.startTime(now: now) }) ?? nil, let key = lanes[index]?.delegate.key
        else { return }
        if let earlier = lanes[index]?.wakeTimer, earlier <= time { return }
        lanes[index]?.wakeTimer = time
        timers.insert(.wake(key), due: time)
    }

    /// Lets the lanes in line start attempts, each in its turn. Returns whether nothing is left that could start now.
    func startPending() -> Bool {
        var visits = Self.turnBudget
        while hasRoom {
            guard visits > 0 else { return false }
            visits -= 1
            if apps.isEmpty { leaveParking() }
            guard let index = apps.next(slots.isBusyWithUnproven ? .proven : .all) else { return true }
            if startPending(lane: index) {
                standInLine(index)
            } else {
                wakeLater(index)
            }
        }
        return true
    }

    /// The fewer, the more lanes stand in line: so all of them have something open, rather than some of them many requests,
    /// each of which wants a connection of its own. Connections are dear to open, and the more there are, the dearer is each
    /// request.
    private var quantum: Int { min(Self.quantum, max(1, Slots.maxYoung / (apps.count + 1))) }

    /// Returns whether the lane could go on when its turn comes again.
    func startPending(lane index: Int) -> Bool {
        var starts = quantum
        var reads = Self.scanBudget
        while starts > 0, reads > 0, hasRoom {
            guard lanes[index]?.ask({ $0.mayStart(now: now) }) == true, let source = lanes[index]?.nextSource() else {
                return false
            }
            guard mayHaveSlot(index) else {
                park(index)
                return false
            }
            switch source {
            case .retry(let retry):
                guard let event = event(at: retry.event) else { return readPage(for: index, at: retry.event) }
                startRetry(retry, event, lane: index)
                starts -= 1
            case .log(let next):
                guard next <= routed else {
                    lanes[index]?.catchUp()
                    touched(index)
                    continue
                }
                guard let event = event(at: next) else { return readPage(for: index, at: next) }
                reads -= 1
                lanes[index]?.pass(next)
                touched(index)
                if lanes[index]?.wants(event, next, isRouted: false, { view(of: event) }) == true {
                    start(event, next, lane: index)
                    starts -= 1
                }
            case .replay(let next):
                guard let event = event(at: next) else { return readPage(for: index, at: next) }
                reads -= 1
                if replay(event, next, lane: index) { starts -= 1 }
            }
        }
        return true
    }

    func event(at sequence: LogPosition) -> Event? {
        if sequence >= recent.first && sequence <= recent.last { return recent[sequence] }
        return pages.event(sequence)
    }

    /// Asks for the page with an event; the lane is put in line again when it is there. Returns `false`.
    private func readPage(for index: Int, at sequence: LogPosition) -> Bool {
        guard let key = lanes[index]?.delegate.key else { return false }
        if let after = pages.want(sequence, for: key) { ports.readPage(after) }
        return false
    }

    private func startRetry(_ retry: Retry, _ event: Event, lane index: Int) {
        guard let row = lanes[index]?.waiting[retry.event] else { return }
        let key = DeliveryKey(delegate: retry.delegate, event: retry.event)
        if event.isErased {
            // Nothing is left to tell.
            _ = lanes[index]?.drop(retry.event)
            checkpoints.end(key, now: now)
            touched(index)
            return withdraw(key)
        }
        // The delegate may have been changed since the last attempt.
        if !stillWants(event, retry.event, lane: index) {
            _ = lanes[index]?.drop(retry.event)
            checkpoints.giveUp(
                key, attempts: row.attempts, .unwanted, at: wall, isReplay: row.isReplay, now: now)
            touched(index)
            return withdraw(key)
        }
        begin(event, retry.event, lane: index, attempts: row.attempts, .retry, isReplay: row.isReplay)
    }

    /// Whether a delivery with a row of its own is to be made by the settings of the moment.
    func stillWants(_ event: Event, _ sequence: LogPosition, lane index: Int) -> Bool {
        if lanes[index]?.waiting[sequence]?.isNamed == true { return true }
        return selects(event, lane: index)
    }

    private func selects(_ event: Event, lane index: Int) -> Bool {
        lanes[index]?.ask { $0.delegate.selection.matches(event) { view(of: event) } } == true
    }

    func start(_ event: Event, _ sequence: LogPosition, lane index: Int) {
        if lanes[index]?.adopt(sequence) == true { return touched(index) }
        if mustWait(event, sequence, lane: index, isReplay: false) { return }
        touched(index)
        begin(event, sequence, lane: index, attempts: 0, .log, isReplay: false)
    }

    /// Returns whether an attempt was started.
    private func replay(_ event: Event, _ sequence: LogPosition, lane index: Int) -> Bool {
        guard let replay = lanes[index]?.replays.first else { return false }
        lanes[index]?.replays[0].pass(sequence)
        touched(index)
        defer { endReplays(index) }
        // One with a row of its own will be made anyway.
        guard lanes[index]?.waiting[sequence] == nil, selects(event, lane: index),
            !mustWait(event, sequence, lane: index, isReplay: true)
        else { return false }
        begin(event, sequence, lane: index, attempts: 0, .replay(replay.id), isReplay: true)
        return true
    }

    /// Replays of a lane that are over make room for the next one.
    func endReplays(_ index: Int) {
        while let replay = lanes[index]?.replays.first, replay.isOver {
            lanes[index]?.replays.removeFirst()
            checkpoints.endReplay(replay.id, now: now)
            touched(index)
            enqueue(index)
        }
    }

    private func mustWait(_ event: Event, _ sequence: LogPosition, lane index: Int, isReplay: Bool) -> Bool {
        guard let key = lanes[index]?.delegate.key,
            lanes[index]?.mustWait(event, sequence, isReplay: isReplay) == true
        else { return false }
        checkpoints.wait(
            DeliveryKey(delegate: key, event: sequence), attempts: 0, dueAt: ports.clock.wall(), isReplay: isReplay,
            now: now)
        touched(index)
        return true
    }

    func begin(
        _ event: Event, _ sequence: LogPosition, lane index: Int, attempts: Int, _ origin: Lane.Origin, isReplay: Bool
    ) {
        guard let delegate = lanes[index]?.delegate, let share = lanes[index]?.share,
            let start = lanes[index]?.started(sequence, origin, now: now)
        else { return }
        let token = open(
            OpenCallback(
                lane: index, share: share, delegate: delegate.key, sequence: sequence, event: event, attempts: attempts,
                purpose: .delivery(origin), isReplay: isReplay, startedAt: wall, start: start))
        ports.sender.start(
            Callback(
                token: token, delegate: delegate, event: event, attempt: attempts + 1,
                purpose: .delivery(isReplay: isReplay)))
    }

    /// Notes an open request.
    /// - Returns: its token.
    func open(_ transfer: OpenCallback) -> Int {
        let token: Int
        if let free = freeTransfers.popLast() {
            transfers[free] = transfer
            token = free
        } else {
            transfers.append(transfer)
            token = transfers.count - 1
        }
        apps.began(transfer.share)
        // A call outside the lanes says nothing of a receiver that it doesn't know: it holds its slot.
        let isProven = transfer.start != nil && isProven(transfer.lane)
        if !isProven { lanes[transfer.lane]?.flow.held += 1 }
        slots.start(token, isProven: isProven, now: now, slept: slept)
        return token
    }
}
