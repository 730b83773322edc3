/// One protocol on one connection: parses received bytes into requests, and turns replies into bytes to send. No I/O,
/// no clock. Used by the receiver's thread only.
protocol Conversation: AnyObject {
    func receive(_ bytes: ArraySlice<UInt8>)
    /// Whether more pipelined data arrived than is kept: the connection has to be closed.
    var hasTooMuch: Bool { get }
    /// The next complete request that may get its reply; the loop adds its connection and time. Over HTTP/1.1 the stream is 0.
    func nextRequest() -> (stream: Int32, request: ReceivedRequest)?
    /// Executes the reply, except its delay.
    func perform(_ reply: ReceiverReply, on stream: Int32)
    /// The next bytes to send, at most some ten thousand; empty if there are none now.
    func output() -> [UInt8]
    /// The pauses that start with the last output; `resume` must follow.
    func takePauses() -> [Pause]
    func resume(_ stream: Int32)
    /// How the connection ends after the output is sent; `nil` if it stays open.
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

struct ConversationLimits {
    var bodyBytes: Int
    static let headBytes = 65_536
    static let outputBytes = 65_536
    static let concurrentStreams: UInt32 = 256
}
