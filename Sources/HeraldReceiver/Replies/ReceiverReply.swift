/// What a receiver does with a request. Put together of few parts, so that nearly all of them combine.
public struct ReceiverReply: Sendable {
    /// What the answer waits for.
    enum Hold {
        case nothing
        case milliseconds(Int)
        case gate(ReceiverGate)
        case forever
    }

    enum Content {
        /// Well-formed, in the protocol of the connection.
        case answer(Answer)
        /// Bytes as they are, whatever the protocol.
        case raw(ReplyBody)
        case nothing
    }

    /// What follows the content.
    enum End {
        case keepOpen
        case close
        /// A TCP reset.
        case reset
        /// HTTP/2: the stream is refused, the connection goes on. HTTP/1.1 has no such thing: closes.
        case refuse
    }

    struct Answer {
        var status: Int
        var headers: [(name: String, value: String)]
        var body: ReplyBody
        /// More than the body has: the answer breaks off.
        var announcedLength: Int?
    }

    var hold = Hold.nothing
    var content = Content.nothing
    var end = End.keepOpen
}

extension ReceiverReply {
    /// A well-formed answer; the connection stays open.
    public static func status(_ code: Int, headers: [(String, String)] = [], body: String = "") -> ReceiverReply {
        status(code, headers: headers, bytes: Array(body.utf8))
    }

    /// A well-formed answer whose body is not text.
    public static func status(_ code: Int, headers: [(String, String)] = [], bytes: [UInt8]) -> ReceiverReply {
        ReceiverReply(
            content: .answer(
                Answer(status: code, headers: headers.map { (name: $0.0, value: $0.1) }, body: ReplyBody(bytes))))
    }

    /// These bytes, as they are; the connection stays open.
    public static func raw(_ text: String) -> ReceiverReply {
        ReceiverReply(content: .raw(ReplyBody(Array(text.utf8))))
    }

    /// These bytes, and then others again and again, until the other side has had enough.
    public static func flood(_ head: String, of text: String) -> ReceiverReply {
        let times = max(1, 16_384 / max(1, text.utf8.count))
        let repeated = Array(String(repeating: text, count: times).utf8)
        return ReceiverReply(content: .raw(ReplyBody(Array(head.utf8), repeating: repeated)))
    }

    /// These bytes, and then one byte every so many milliseconds until the other side closes.
    public static func drip(_ head: String, milliseconds: Int) -> ReceiverReply {
        let head = Array(head.utf8)
        return ReceiverReply(
            content: .raw(
                ReplyBody(
                    head, repeating: [UInt8(ascii: "x")], dripMilliseconds: milliseconds, atOnce: head.count)))
    }

    /// The other reply, and then the end of the connection.
    public static func thenClose(_ reply: ReceiverReply) -> ReceiverReply {
        var reply = reply
        reply.end = .close
        return reply
    }

    /// Closes without a word.
    public static let close = ReceiverReply(end: .close)

    /// Breaks the connection with a TCP reset.
    public static let reset = ReceiverReply(end: .reset)

    /// Refuses the stream (HTTP/2), which says that nothing was done with the request. Over HTTP/1.1 it closes.
    public static let refuse = ReceiverReply(end: .refuse)

    /// Never answers; the connection stays open.
    public static let hang = ReceiverReply(hold: .forever)

    /// The other reply, once the gate is open.
    public static func held(_ gate: ReceiverGate, _ reply: ReceiverReply = .status(200)) -> ReceiverReply {
        var reply = reply
        reply.hold = .gate(gate)
        return reply
    }

    /// The other reply, after a while.
    public static func delayed(milliseconds: Int, _ reply: ReceiverReply = .status(200)) -> ReceiverReply {
        var reply = reply
        reply.hold = .milliseconds(milliseconds)
        return reply
    }
}
