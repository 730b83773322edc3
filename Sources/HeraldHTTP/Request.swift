/// A complete request. It outlives the connection and can be passed to any thread.
public struct Request: Sendable {
    public let head: RequestHead
    public let body: [UInt8]
    public let peer: PeerAddress
}
