import HeraldJSON
import HeraldModel

/// Decides what retention removes next, from the sizes in the store and the progress of the deliveries. It reads, and
/// changes only its own memory of the ranges that it has read.
///
/// When space is short, the oldest attempts go first, within a budget of their own; of the events, first those that no
/// delegate is still to get, the oldest first. Only when there are none left do the delivery loops end the deliveries of
/// the oldest events: after the checkpoint that records this, these are settled like the others. So no event is ever
/// removed that a stored position still needs, and each delivery that is lost is counted with the position that moved.
struct RetentionPlanner {
    /// The next action.
    struct Step {
        var write: TrimWrite?
        var ending: Ending?
        /// The bytes by which attempts may grow until their budget is full; `nil` without a budget.
        var attemptRoom: Int64?
        /// There was too much to read: continue at once.
        var isPartial = false
    }

    /// Events whose deliveries are to end.
    struct Ending: Sendable {
        let through: LogPosition
        let gone: [LoggedEvent]
        let cause: Removal.Cause
    }

    struct Context {
        let reader: any StoreReader
        /// The selection of a delegate; `nil` if it does not exist.
        let selection: (DelegateKey) -> EventSelection?
        /// The number of stored events and their bytes, as `Event.storedBytes` counts them.
        let stored: (events: Int64, bytes: Int64)
        /// Monotonic milliseconds.
        let now: Int64
        /// The time before which stored events are older than the age. Both in milliseconds, the time since 1970 UTC.
        let end: (_ age: Int64) -> Int64
    }

    /// The parts of a budget at which removing begins, and that it leaves.
    private static let (begin, leave) = (0.97, 0.95)
    /// Free space is used again. It is given back when it is more than a twentieth of what is used, down to a fortieth.
    private static let (mostFree, leastFree): (Int64, Int64) = (20, 40)
    /// Less free space is not worth the work.
    private static let keptFree: Int64 = 256 << 10
    /// The size of an event on disk besides its bytes: its row, and its entries in indexes.
    private static let eventOverhead = 100
    /// The most events and bytes that one step may read.
    private static let maxEvents = 20_000
    private static let maxBytes = 16 << 20
    /// The most steps of content filters in one step: about 10 ms of processor time.
    private static let maxFilterSteps = 400_000
    /// Milliseconds between two removals by age.
    private static let ageInterval: Int64 = 10_000
    /// Milliseconds between two checks of events that were still needed. Events that lanes have passed since are
    /// checked soon; this is for deliveries that waited for a retry, and for delegates that have changed.
    private static let scanInterval: Int64 = 3_600_000

    private let retention: Retention
    private var nextAging: Int64 = 0
    /// Ranges in which events may no longer be needed, ascending. The events in between were needed.
    private var unscanned: [ClosedRange<LogPosition>] = [1...LogPosition.max]
    private var nextScan: Int64 = 0
    /// Every event was read once.
    private var hasScanned = false
    private var holds = Holds()
    private var lastEnding: (through: LogPosition, time: Int64) = (0, .min / 2)

    init(_ retention: Retention) { self.retention = retention }

    mutating func next(_ context: Context) throws(StoreError) -> Step {
        var old: LogPosition = 0
        if let age = retention.events { old = try context.reader.lastEvent(before: context.end(age)) }
        return try next(context, old: old)
    }

    /// - Parameter old: the last event that is too old.
    mutating func next(_ context: Context, old: LogPosition) throws(StoreError) -> Step {
        let sizes = try context.reader.sizes()
        var step = Step()
        var write = TrimWrite()
        if let budget = retention.attemptBytes {
            write.attemptsThrough = Self.attemptsThrough(sizes, budget)
            step.attemptRoom = max(0, Int64(Double(budget) * Self.begin) - sizes.attempts)
        }
        if context.now >= nextAging {
            nextAging = context.now + Self.ageInterval
            write.attemptsBefore = retention.attempts.map { context.end($0) } ?? 0
            write.statisticsBefore = context.end(DeliveryStatistics.lifetime)
        }
        let first = try context.reader.firstEvent()
        let last = try context.reader.lastEvent() - 1
        if old >= first, first <= last {
            try plan(context, through: min(old, last), first: first, cost: nil, &write, &step)
        }
        if let budget = retention.bytes, write.events.isEmpty, first <= last,
            let excess = Self.excess(sizes.events, budget)
        {
            let cost = Double(context.stored.bytes + Int64(Self.eventOverhead) * context.stored.events)
            let share = Double(excess) / Double(max(1, sizes.events))
            try plan(context, through: last, first: first, cost: max(1, cost * share), &write, &step)
        }
        // Not while more becomes free.
        if write.events.isEmpty, write.attemptsThrough == 0, sizes.free > max(Self.keptFree, sizes.used / Self.mostFree)
        {
            write.giveBack = sizes.free - max(Self.keptFree, sizes.used / Self.leastFree)
        }
        if !write.isEmpty { step.write = write }
        return step
    }

    /// The next action of a node that removes nothing: the deliveries of events that are too old end in its loops, too.
    mutating func nextEnding(_ context: Context) throws(StoreError) -> Ending? {
        guard let age = retention.events, context.now >= nextAging else { return nil }
        nextAging = context.now + Self.ageInterval
        return try nextEnding(context, old: try context.reader.lastEvent(before: context.end(age)))
    }

    /// - Parameter old: the last event that is too old.
    mutating func nextEnding(_ context: Context, old: LogPosition) throws(StoreError) -> Ending? {
        let first = try context.reader.firstEvent()
        guard first <= old else { return nil }
        let last = try context.reader.lastEvent() - 1
        let progress = try context.reader.progress()
        pass(progress)
        let end = min(old, last, progress.settled.earliest())
        guard first <= end else { return nil }
        if end <= holds.free {
            // What no delivery needs is removed by another node.
            let part = first...min(end, first + LogPosition(Self.maxEvents))
            if try context.reader.waitingEvents(in: part).isEmpty { return nil }
        }
        return try ending(context, from: first, through: end, cost: nil, .age)
    }

    /// Call it when a removal has failed: what it had found is still there.
    mutating func failed() { unscanned = [1...LogPosition.max] }

    private static func excess(_ size: Int64, _ budget: Int64) -> Int64? {
        guard Double(size) > Double(budget) * begin else { return nil }
        return size - Int64(Double(budget) * leave)
    }

    private static func attemptsThrough(_ sizes: StorageSizes, _ budget: Int64) -> Int64 {
        guard let excess = excess(sizes.attempts, budget), sizes.lastAttempt > sizes.firstAttempt else { return 0 }
        let share = Double(excess) / Double(sizes.attempts)
        let count = Double(sizes.lastAttempt - sizes.firstAttempt + 1) * share
        return min(sizes.firstAttempt + Int64(count.rounded(.up)) - 1, sizes.lastAttempt - 1)
    }

    private static func cost(_ bytes: Int) -> Double { Double(bytes + eventOverhead) }

    // MARK: Events

    /// - Parameters:
    ///   - end: the last event that may be removed.
    ///   - cost: how much is to be removed; `nil` for everything up to `end`.
    private mutating func plan(
        _ context: Context, through end: LogPosition, first: LogPosition, cost: Double?, _ write: inout TrimWrite,
        _ step: inout Step
    ) throws(StoreError) {
        let progress = try context.reader.progress()
        pass(progress)
        let end = min(end, progress.settled.earliest())
        let cause = cost == nil ? Removal.Cause.age : .size
        write.events = try scan(context, from: first, through: end, cost: cost)
        write.cause = cause
        let isScanned = (unscanned.first?.lowerBound ?? .max) > end
        if isScanned, context.now >= nextScan {
            // The first time, nothing is old yet.
            if nextScan > 0 { unscanned = [1...LogPosition.max] }
            nextScan = context.now + Self.scanInterval
        }
        if isScanned, cost != nil { hasScanned = true }
        guard write.events.isEmpty else { return }
        step.isPartial = !isScanned && !(hasScanned && cost != nil)
        if step.isPartial { return }
        step.ending = try ending(context, from: first, through: end, cost: cost, cause)
    }

    /// Ranges that lanes and replays have passed are checked again.
    private mutating func pass(_ progress: DeliveryProgress) {
        unscanned = Self.merged(unscanned + holds.update(progress))
    }

    /// Finds events that no delegate is still to get.
    private mutating func scan(
        _ context: Context, from first: LogPosition, through end: LogPosition, cost: Double?
    ) throws(StoreError) -> [ClosedRange<LogPosition>] {
        var found: [ClosedRange<LogPosition>] = []
        var left = cost ?? .infinity
        var (events, bytes) = (0, 0)
        func add(_ position: LogPosition, _ size: Int) {
            left -= Self.cost(size)
            if let last = found.last, last.upperBound == position - 1 {
                found[found.count - 1] = last.lowerBound...position
            } else {
                found.append(position...position)
            }
        }
        let filterLimit = holds.filterSteps + Self.maxFilterSteps
        while left > 0, events < Self.maxEvents, bytes < Self.maxBytes, holds.filterSteps < filterLimit,
            let range = unscanned.first
        {
            let start = max(first, range.lowerBound)
            let limit = min(range.upperBound, end)
            guard start <= limit else {
                if range.upperBound >= end { break }
                unscanned.removeFirst()
                continue
            }
            var position = start - 1
            if start <= holds.free {
                // No lane needs any of these. Their sizes are enough, which are read without their data.
                let through = min(limit, holds.free)
                let sizes = try context.reader.eventSizes(after: position, through: through, limit: 1_000)
                position = sizes.count < 1_000 ? through : sizes.last?.position ?? through
                let waiting = Set(try context.reader.waitingEvents(in: start...position))
                for size in sizes where left > 0 {
                    if !waiting.contains(size.position) { add(size.position, size.bytes) }
                    if left <= 0 { position = size.position }
                }
                events += sizes.count
            } else {
                let batch = try context.reader.events(after: position, limit: 256, maxBytes: 1 << 20)
                let waiting = Set(try context.reader.waitingEvents(in: start...max(start, batch.last)))
                position = batch.events.isEmpty ? limit : min(limit, batch.first - 1)
                for event in batch.events
                where left > 0 && position < limit && holds.filterSteps < filterLimit {
                    position += 1
                    bytes += event.data.count
                    if !waiting.contains(position), !holds.needs(event, position, context.selection) {
                        add(position, event.storedBytes)
                    }
                }
                events += batch.events.count + holds.takeSteps() / 100
            }
            let rest = position < range.upperBound ? [position + 1...range.upperBound] : []
            unscanned.replaceSubrange(0...0, with: rest)
        }
        return found
    }

    /// The oldest events, all of which are still needed.
    private mutating func ending(
        _ context: Context, from first: LogPosition, through end: LogPosition, cost: Double?, _ cause: Removal.Cause
    ) throws(StoreError) -> Ending? {
        var gone: [LoggedEvent] = []
        var (position, bytes, left) = (first - 1, 0, cost ?? .infinity)
        while position < end, left > 0, gone.count < Self.maxEvents, bytes < Self.maxBytes {
            let batch = try context.reader.events(after: position, limit: 256, maxBytes: 1 << 20)
            if batch.events.isEmpty { break }
            position = batch.first - 1
            for event in batch.events where position < end && left > 0 {
                position += 1
                bytes += event.data.count
                left -= Self.cost(event.storedBytes)
                gone.append(LoggedEvent(sequence: position, event: event))
            }
        }
        guard let through = gone.last?.sequence else { return nil }
        // The loops may still wait for the end of an attempt.
        if through <= lastEnding.through, context.now < lastEnding.time + Self.ageInterval { return nil }
        lastEnding = (through, context.now)
        return Ending(through: through, gone: gone, cause: cause)
    }

    /// Ascending ranges that do not overlap. Takes no time for each pair: a hundred thousand lanes may have advanced.
    static func merged(_ ranges: [ClosedRange<LogPosition>]) -> [ClosedRange<LogPosition>] {
        var merged: [ClosedRange<LogPosition>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, last.upperBound >= range.lowerBound {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }
}

/// The lanes and replays that still need events.
private struct Holds {
    private struct Owner: Hashable {
        let delegate: DelegateKey
        /// 0 for the lane itself.
        let replay: Int64
    }

    private var ranges: [Owner: (after: LogPosition, until: LogPosition)] = [:]
    private var list: [(owner: Owner, after: LogPosition, until: LogPosition)] = []
    private var selections: [DelegateKey: EventSelection?] = [:]
    private var steps = 0
    /// The steps that content filters have taken since the start.
    private(set) var filterSteps = 0
    /// No lane and no replay needs an event up to here.
    private(set) var free: LogPosition = 0

    /// - Returns: the ranges that lanes and replays have passed since the last call.
    mutating func update(_ progress: DeliveryProgress) -> [ClosedRange<LogPosition>] {
        var now: [Owner: (after: LogPosition, until: LogPosition)] = [:]
        for lane in progress.lanes { now[Owner(delegate: lane.delegate, replay: 0)] = (lane.cursor, .max) }
        for replay in progress.replays where replay.cursor < replay.until {
            now[Owner(delegate: replay.delegate, replay: replay.id)] = (replay.cursor, replay.until)
        }
        let passed = ranges.compactMap { owner, old -> ClosedRange<LogPosition>? in
            let end = now[owner]?.after ?? min(old.until, progress.settled.earliest())
            return old.after < end ? old.after + 1...end : nil
        }
        ranges = now
        list = now.map { ($0.key, $0.value.after, $0.value.until) }.sorted { $0.after < $1.after }
        free = min(progress.settled.earliest(), list.first?.after ?? .max)
        selections = [:]
        return passed
    }

    mutating func needs(
        _ event: Event, _ position: LogPosition, _ selection: (DelegateKey) -> EventSelection?
    ) -> Bool {
        var view: EventView?
        func examined() -> EventView {
            // If its budget is exhausted, all filters match, and the event is kept.
            let made = view ?? EventView(event, within: WorkBudget())
            view = made
            return made
        }
        defer { filterSteps += view?.steps ?? 0 }
        for hold in list {
            // The others have passed it.
            guard hold.after < position else { return false }
            guard position <= hold.until else { continue }
            steps += 1
            let key = hold.owner.delegate
            let selected = selections[key] ?? selection(key)
            selections[key] = .some(selected)
            if let selected, selected.matches(event, examined) { return true }
        }
        return false
    }

    /// The number of selections that were compared since the last call.
    mutating func takeSteps() -> Int {
        defer { steps = 0 }
        return steps
    }
}
