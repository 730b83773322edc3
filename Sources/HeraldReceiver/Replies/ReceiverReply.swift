/// The reply of a receiver to a request, made of parts that can be combined.
package struct ReceiverReply: Sendable {
    /// The condition that the response waits for.
    enum Hold {
        case nothing
        case milliseconds(Int)
        case gate(ReceiverGate)
        case forever
    }

    enum Content {
        /// Well-formed, in the protocol of the connection.
        case answer(Answer)
        /// Raw bytes, in any protocol.
        case raw(ReplyBody)
        /// Updates of the keys of TLS, without end.
        case keyUpdates
        case nothing
    }

    /// The end of the response after the content.
    enum End {
        case keepOpen
        case close
        /// A TCP reset.
        case reset
        /// HTTP/2: the stream is refused, the connection stays open. HTTP/1.1 has no equivalent: closes.
        case refuse
    }

    struct Answer {
        var status: Int
        var headers: [(name: String, value: String)]
        var body: ReplyBody
        /// More than the body has: the response is truncated.
        var announcedLength: Int?
    }

    var hold = Hold.nothing
    var content = Content.nothing
    var end = End.keepOpen
}

extension ReceiverReply {
    /// A well-formed response; the connection stays open.
    package static func status(_ code: Int, headers: [(String, String)] = [], body: String = "") -> ReceiverReply {
        status(code, headers: headers, bytes: Array(body.utf8))
    }

    /// A well-formed response with a binary body.
    package static func status(_ code: Int, headers: [(String, String)] = [], bytes: [UInt8]) -> ReceiverReply {
        ReceiverReply(
            content: .answer(
                Answer(status: code, headers: headers.map { (name: $0.0, value: $0.1) }, body: ReplyBody(bytes))))
    }

    /// These raw bytes; the connection stays open.
    package static func raw(_ text: String) -> ReceiverReply {
        ReceiverReply(content: .raw(ReplyBody(Array(text.utf8))))
    }

    /// These bytes, followed by others repeatedly, until the client closes.
    package static func flood(_ head: String, of text: String) -> ReceiverReply {
        let times = max(1, 16_384 / max(1, text.utf8.count))
        let repeated = Array(String(repeating: text, count: times).utf8)
        return ReceiverReply(content: .raw(ReplyBody(Array(head.utf8), repeating: repeated)))
    }

    /// These bytes, then one byte per interval until the client closes.
    package static func drip(_ head: String, milliseconds: Int) -> ReceiverReply {
        let head = Array(head.utf8)
        return ReceiverReply(
            content: .raw(
                ReplyBody(
                    head, repeating: [UInt8(ascii: "x")], dripMilliseconds: milliseconds, atOnce: head.count)))
    }

    /// The given reply, then the end of the connection.
    package static func thenClose(_ reply: ReceiverReply) -> ReceiverReply {
        var reply = reply
        reply.end = .close
        return reply
    }

    /// Closes without a response.
    package static let close = ReceiverReply(end: .close)

    /// Resets the connection (TCP RST).
    package static let reset = ReceiverReply(end: .reset)

    /// Refuses the stream (HTTP/2), which means that the request was not processed. Over HTTP/1.1 it closes.
    package static let refuse = ReceiverReply(end: .refuse)

    /// Never responds; the connection stays open.
    package static let hang = ReceiverReply(hold: .forever)

    /// The given reply, once the gate is open.
    package static func held(_ gate: ReceiverGate, _ reply: ReceiverReply = .status(200)) -> ReceiverReply {
        var reply = reply
        reply.hold = .gate(gate)
        return reply
    }

    /// The given reply, after a delay.
    package static func delayed(milliseconds: Int, _ reply: ReceiverReply = .status(200)) -> ReceiverReply {
        var reply = reply
        reply.hold = .milliseconds(milliseconds)
        return reply
    }
}
