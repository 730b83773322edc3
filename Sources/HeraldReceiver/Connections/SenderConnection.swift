internal import HeraldRuntime

/// One connection. Owned by the receiver's thread.
final class SenderConnection {
    /// 1 for the first connection of the receiver.
    let number: Int
    let stream: ByteStream
    /// `nil` until the first bytes have determined the protocol.
    var conversation: (any Conversation)?
    /// Bytes received before the protocol is known.
    var opening: [UInt8] = []
    /// Bytes that the socket has not accepted yet.
    var unsent: ArraySlice<UInt8> = []
    /// Delayed replies, by stream.
    var held: [Int32: ReceiverReply] = [:]
    var requestCount = 0
    /// Sends nothing more but updates of the keys of TLS.
    var updatesKeys = false
    /// The events that epoll reports.
    var interest: ReceiverLoop.Interest = .read
    var isClosed = false

    init(number: Int, stream: ByteStream) {
        self.number = number
        self.stream = stream
    }

    /// Chooses the protocol by the first bytes, because nothing else identifies HTTP/2 without TLS. Keeps them until
    /// then.
    func receive(_ bytes: ArraySlice<UInt8>, limits: ConversationLimits) {
        if let conversation { return conversation.receive(bytes) }
        opening += bytes
        let preface = Self.http2Preface
        if opening.count < preface.count, preface.starts(with: opening) { return }
        let conversation: any Conversation =
            opening.starts(with: preface) ? HTTP2Conversation(limits: limits) : HTTP1Conversation(limits: limits)
        self.conversation = conversation
        conversation.receive(opening[...])
        opening = []
    }

    private static let http2Preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
}
