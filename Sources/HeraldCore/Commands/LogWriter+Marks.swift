import HeraldRuntime

/// The log is marked as it grows, so that it can be cut by age.
extension LogWriter {
    func mark(_ transaction: any StoreTransaction, _ state: State, _ plan: inout Plan) throws(StoreError) {
        let now = clock.wall()
        // A clock that went back makes no mark until it has caught up: marks ascend.
        guard plan.head > state.lastMark.sequence, now >= state.lastMark.time + LogMark.interval else { return }
        let mark = LogMark(sequence: plan.head, time: now)
        try transaction.addMark(mark)
        plan.mark = mark
    }
}
