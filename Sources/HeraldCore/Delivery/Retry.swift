/// A delivery with a row of its own whose next attempt is due.
struct Retry: Equatable, Sendable {
    let delegate: DelegateKey
    let event: LogPosition
    /// Of the row when this was made: another one there means that this is outdated.
    let turn: UInt32
}

/// Retries in the order in which they came due. Taking the first costs the same however many wait.
struct RetryQueue {
    private var retries: [Retry] = []
    private var start = 0

    var isEmpty: Bool { start == retries.count }
    var count: Int { retries.count - start }
    var first: Retry? { isEmpty ? nil : retries[start] }

    mutating func append(_ retry: Retry) { retries.append(retry) }

    /// - Precondition: it isn't empty.
    mutating func removeFirst() {
        start += 1
        if start >= 64 && start * 2 >= retries.count || isEmpty {
            retries.removeFirst(start)
            start = 0
        }
    }
}
