/// A complete request. A value of its own: it outlives the connection and may go to any thread.
public struct Request: Sendable {
    public let head: RequestHead
    public let body: [UInt8]
    public let peer: PeerAddress
}
