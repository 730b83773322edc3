/// Shared by the parts of a delivery engine. Confined to the loop's thread.
struct LoopParts {
    let lanes: LaneTable
    let log: LoopLog
    let ledger: DeliveryLedger
    let timers: LoopTimers
    let awaited: AwaitedAttempts
    let counters: DeliveryCounters
}

/// A part of a delivery engine. Confined to the loop's thread.
class LoopPart {
    final let lanes: LaneTable
    final let log: LoopLog
    final let ledger: DeliveryLedger
    final let timers: LoopTimers
    final let awaited: AwaitedAttempts
    final let counters: DeliveryCounters

    init(_ loop: LoopParts) {
        lanes = loop.lanes
        log = loop.log
        ledger = loop.ledger
        timers = loop.timers
        awaited = loop.awaited
        counters = loop.counters
    }
}
