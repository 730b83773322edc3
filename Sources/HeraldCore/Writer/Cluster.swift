/// The processes that share the store, as the writer sees them: which delegates belong to this one. The writer's thread, outside
/// transactions.
protocol Cluster {
    /// Whether this process does what one of all has to do.
    var keepsHouse: Bool { get }

    /// Takes and gives delegates when that is due. Called often, when memory includes what others have changed.
    mutating func look() throws(StoreError)

    /// The session has ended: other nodes may take all delegates.
    func sessionIsLost()
}
