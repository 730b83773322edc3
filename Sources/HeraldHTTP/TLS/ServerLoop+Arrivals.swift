// TLS connections arrive with a complete handshake (see HandshakeLoop).
extension ServerLoop {
    /// Gives waiting connections to the library, as far as there is room for them.
    func addArrivals() {
        guard let daemon else { return }
        let oldest = now - Int64(configuration.requestDeadlineSeconds) * 1_000_000_000
        var count = 0
        while count < arrivals.count, connections.count < maxConnections {
            let next = arrivals[count]
            count += 1
            if next.since <= oldest || isStopping { continue }
            arrival = next
            _ = next.move(to: daemon)
            // Otherwise `add` has taken it, together with its place in the limit of its address.
            if arrival.take() != nil, next.isCounted { addresses.closed(next.peer) }
        }
        arrivals.removeFirst(count)
    }
}
