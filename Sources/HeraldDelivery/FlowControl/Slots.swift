/// The open requests of one loop, and how its slots are shared. Pure.
///
/// - *Young*: a request that has just started, and keeps the loop busy. There are at most `maxYoung`, because more
///   would compete for the processor's cache without a gain. While the loop is busy, a request stays young. Once the
///   loop has slept for two milliseconds since the start, the request only waits for the receiver. At most
///   `maxYoungUnproven` of them are for unproven receivers: each of these needs a new connection, and a thousand
///   concurrent starts would delay responsive receivers.
/// - *Held*: a request that is older than a quarter of a second, or whose receiver is unproven: it has not responded
///   yet, or has failed since. When half of the slots are held, only proven lanes without a held slot get more. So
///   receivers that do not respond leave the other half to those that do.
/// - *Late*: a request that is older than a second. `FlowControl` decides whether it hangs.
struct Slots {
    static let youngAge: Int64 = 2_000_000
    static let maxYoung = 64
    static let maxYoungUnproven = 8
    static let heldAge: Int64 = 250_000_000
    static let lateAge: Int64 = 1_000_000_000

    /// The classes of requests by age.
    enum Age {
        case held
        case late
    }

    private struct Slot {
        var previous = -1
        var next = -1
        var isListed = false
        var isYoung = false
        var isProven = false
        var isHeld = false
        var isLate = false
        var startedAt: Int64 = 0
        /// On the clock that runs while the loop sleeps (`CallbackSender.slept`).
        var sleptAt: Int64 = 0
    }

    let capacity: Int
    /// By token. Those that are not late form a list in the order of their starts.
    private var slots: [Slot] = []
    private var oldest = -1
    private var newest = -1
    private var oldestYoung = -1
    /// The oldest request that is younger than `heldAge`.
    private var oldestRecent = -1

    private(set) var open = 0
    private(set) var young = 0
    private var youngUnproven = 0
    private(set) var held = 0

    init(capacity: Int) { self.capacity = capacity }

    var free: Int { capacity - open }
    var isFull: Bool { free <= 0 }
    var isBusy: Bool { young >= Self.maxYoung }
    /// Whether only proven lanes may start.
    var isBusyWithUnproven: Bool { youngUnproven >= Self.maxYoungUnproven }

    /// When the oldest young request stops being young, on the clock that runs while the loop sleeps.
    var nextGrown: Int64? { oldestYoung < 0 ? nil : slots[oldestYoung].sleptAt + Self.youngAge }

    /// The number of slots that are free for any lane; the others are for those with `FlowControl.mayTakeReserve`.
    var roomForAny: Int { max(0, max(1, capacity / 2) - held) }

    mutating func start(_ token: Int, isProven: Bool, now: Int64, slept: Int64) {
        while slots.count <= token { slots.append(Slot()) }
        slots[token] = Slot(
            previous: newest, isListed: true, isYoung: true, isProven: isProven, isHeld: !isProven, startedAt: now,
            sleptAt: slept)
        if newest >= 0 { slots[newest].next = token } else { oldest = token }
        newest = token
        if oldestYoung < 0 { oldestYoung = token }
        if oldestRecent < 0 { oldestRecent = token }
        open += 1
        young += 1
        if !isProven {
            youngUnproven += 1
            held += 1
        }
    }

    /// - Returns: whether it was held, and whether it was late.
    mutating func end(_ token: Int) -> (isHeld: Bool, isLate: Bool) {
        let slot = slots[token]
        if slot.isYoung { grow(token) }
        if slot.isListed { unlist(token) }
        open -= 1
        if slot.isHeld { held -= 1 }
        slots[token] = Slot()
        return (slot.isHeld, slot.isLate)
    }

    /// Advances the time.
    /// - Parameter became: called with each request that becomes held or late.
    mutating func age(now: Int64, slept: Int64, became: (_ token: Int, Age) -> Void) {
        while oldestYoung >= 0, slots[oldestYoung].sleptAt + Self.youngAge <= slept { grow(oldestYoung) }
        while oldestRecent >= 0, slots[oldestRecent].startedAt + Self.heldAge <= now {
            let token = oldestRecent
            // If the loop had no time to sleep for so long, the processor's cache is not the bottleneck.
            if slots[token].isYoung { grow(token) }
            oldestRecent = slots[token].next
            if slots[token].isHeld { continue }
            slots[token].isHeld = true
            held += 1
            became(token, .held)
        }
        while oldest >= 0, slots[oldest].startedAt + Self.lateAge <= now {
            let token = oldest
            unlist(token)
            slots[token].isLate = true
            became(token, .late)
        }
    }

    private mutating func grow(_ token: Int) {
        slots[token].isYoung = false
        young -= 1
        if !slots[token].isProven { youngUnproven -= 1 }
        // Later requests are young or have ended.
        if oldestYoung == token { oldestYoung = slots[token].next }
    }

    private mutating func unlist(_ token: Int) {
        let (previous, next) = (slots[token].previous, slots[token].next)
        if oldestRecent == token { oldestRecent = next }
        if previous >= 0 { slots[previous].next = next } else { oldest = next }
        if next >= 0 { slots[next].previous = previous } else { newest = previous }
        slots[token].isListed = false
    }
}
