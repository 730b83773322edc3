// Connections of trusted proxies carry requests of many clients. Such a connection is counted for the client of its
// request, and between two requests for none.
extension ServerLoop {
    /// Counts the connection for the client of its request.
    /// - Returns: `false` if the client has too many.
    func countClient(of connection: ClientConnection, _ head: RequestHead) -> Bool {
        let client = addresses.proxies.client(of: head, from: connection.address)
        connection.peer = client
        guard addresses.admits(client) else { return false }
        addresses.opened(client)
        connection.isCounted = true
        shares.add(client)
        connection.isShared = true
        if shares.excess(of: client, others: streamConnections) > 0 {
            addresses.countRefusal(of: client)
            return false
        }
        connection.usesReserve = addresses.excess(of: client) > 0
        return true
    }

    /// The request has ended.
    func forgetClient(of connection: ClientConnection) {
        if connection.isCounted { addresses.closed(connection.peer) }
        connection.isCounted = false
        leaveShare(connection)
        connection.usesReserve = false
        connection.peer = connection.address
    }
}
