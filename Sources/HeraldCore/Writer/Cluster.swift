import HeraldModel

/// The processes that may have the store open, as the writer sees them: `SingleProcess`, or `SharedStore` with several. The writer's
/// thread.
protocol Cluster {
    /// Milliseconds after which the writer begins a round without submissions.
    var interval: Int32 { get }
    /// Whether this process does what one of all has to do.
    var runsMaintenance: Bool { get }
    /// The number of the last change that memory includes.
    var lastChange: Int64 { get }

    /// Reads what other processes have committed, when it is due or requested. Outside transactions.
    /// - Parameters:
    ///   - isAwaited: requests wait for it, and need all that is committed.
    ///   - apply: carries out changes, in their order, with the rows as they are now.
    /// - Returns: the end of the log; `nil` if nothing was read.
    func beforeRound(
        isRequested: Bool, isAwaited: Bool, _ reader: LazyReader, _ apply: ([Change], ChangedRows) -> Void
    ) throws(StoreError) -> LogPosition?

    /// Whether the last read of the store has found events from SQL; at most once for each read.
    func hasFoundSubmissions() -> Bool

    /// Acquires and releases delegates, when it is due and memory includes what others have changed. Outside transactions.
    func shareDelegates() throws(StoreError)

    /// Reads what other processes have committed, inside a deciding transaction, which keeps them from committing more.
    /// - Parameter name: the name of a transaction of this process with an unknown outcome.
    /// - Returns: whether that transaction was committed.
    func beforeDeciding(
        lookingFor name: Int64?, _ reader: LazyReader, _ apply: ([Change], ChangedRows) -> Void
    ) throws(StoreError) -> Bool

    /// The last step of a deciding transaction: adds what it changes to the list of changes.
    /// - Returns: the end of the log and the name of the transaction; `nil` if there is no list.
    func record(
        _ effects: [WriteEffect], _ transaction: any StoreTransaction
    ) throws(StoreError) -> (head: LogPosition, name: Int64)?

    /// A deciding transaction was committed.
    func hasDecided()

    /// The filled blocks of the log whose counts no other process has stored.
    func uncounted(
        _ filled: Range<Int64>, _ transaction: any StoreTransaction
    ) throws(StoreError) -> Range<Int64>

    /// Whether this process may record deliveries of a delegate.
    func owns(_ delegate: DelegateKey) -> Bool

    /// The part of a checkpoint that this process may record.
    /// - Parameter effects: those of its transaction so far.
    func own(_ checkpoint: Checkpoint, after effects: [WriteEffect]) -> Checkpoint

    /// The session has ended: other nodes may take all delegates.
    func sessionIsLost()
}
