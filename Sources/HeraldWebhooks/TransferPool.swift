/// The transfers of a sender: as many as were open at once.
struct TransferPool {
    private(set) var all: [Transfer] = []
    /// Indices of the free ones.
    private var free: [Int] = []

    /// - Parameter make: called with the index of the new transfer.
    mutating func take(make: (Int) -> Transfer) -> Transfer {
        if let index = free.popLast() { return all[index] }
        let transfer = make(all.count)
        all.append(transfer)
        return transfer
    }

    mutating func put(_ transfer: Transfer) { free.append(transfer.index) }
}
