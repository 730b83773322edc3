/// One protocol on one connection: bytes come in and requests come out, replies go in and bytes come out. No I/O, no clock.
/// Used by the receiver's thread only.
protocol Conversation: AnyObject {
    /// Takes what came.
    func receive(_ bytes: ArraySlice<UInt8>)
    /// Whether more came ahead of its turn than will be kept: the connection has to be broken off.
    var hasTooMuch: Bool { get }
    /// The next request that is complete and may be answered.
    func nextRequest() -> IncomingRequest?
    /// Does what the reply says, apart from what it waits for.
    func perform(_ reply: ReceiverReply, on stream: Int32)
    /// The next bytes to send, some ten thousand at most; none when there is nothing now.
    func output() -> [UInt8]
    /// The pauses that begin with the last output: to be followed by `resume`.
    func takePauses() -> [Pause]
    func resume(_ stream: Int32)
    /// How the connection ends once the output is sent; `nil`: it goes on.
    var ending: Ending? { get }
}

struct Pause {
    let stream: Int32
    let milliseconds: Int
}

enum Ending {
    case close
    case reset
}

/// What is taken from one connection.
struct ConversationLimits {
    var bodyBytes: Int
    static let headBytes = 65_536
    static let outputBytes = 65_536
    static let concurrentStreams: UInt32 = 256
}
