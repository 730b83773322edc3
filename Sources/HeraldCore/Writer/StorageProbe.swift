import HeraldModel

/// Commits one small row, to find out whether the storage works again when there are no other writes. The row is a response
/// that has expired, of no app, and no request can get it. (A mark of the log would have the time of a clock that may be wrong
/// at that moment, and retention removes events by the times of marks.)
struct StorageProbe: StoreCommand {
    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        let answer = StoredAnswer(fingerprint: [], status: 204, headers: [], body: [])
        try transaction.setAnswer(answer, app: AppKey(rawValue: 0), key: "probe", expiresAt: 0)
    }
}
