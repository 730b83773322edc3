/// An endless response of a hostile receiver.
package enum ReceiverFlood: String, CaseIterable, Sendable {
    // Over HTTP/1.1.
    case headers, line, interim, trailer
    case chunkExtension = "extension"
    // Over HTTP/2: frames without content, and frames of the connection.
    case data, priority
    case windowUpdate = "window-update"
    // In TLS 1.3, with any protocol.
    case keyUpdate = "key-update"

    /// The reply that sends it.
    package var reply: ReceiverReply {
        switch self {
        case .headers: .flood("HTTP/1.1 200 OK\r\n", of: "a:\r\n")
        case .line: .flood("HTTP/1.1 200 OK\r\na: ", of: "x")
        case .interim: .flood("", of: "HTTP/1.1 103 x\r\n\r\n")
        case .trailer: .flood(Self.chunked + "0\r\n", of: "a: b\r\n")
        case .chunkExtension: .flood(Self.chunked + "1;", of: "x")
        case .data: .frames([Self.settings, Self.ok], thenRepeatedly: Self.frame(type: 0, stream: 1))
        case .priority:
            .frames([Self.settings], thenRepeatedly: Self.frame(type: 2, stream: 3, payload: [0, 0, 0, 0, 16]))
        case .windowUpdate:
            .frames([Self.settings], thenRepeatedly: Self.frame(type: 8, stream: 0, payload: [0, 0, 0, 1]))
        case .keyUpdate: ReceiverReply(content: .keyUpdates)
        }
    }

    /// Whether it is made of frames of HTTP/2.
    package var isHTTP2: Bool { [.data, .priority, .windowUpdate].contains(self) }

    private static let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    private static let settings = frame(type: 4, stream: 0)
    /// The header section `:status: 200` of the first request of a connection.
    private static let ok = frame(type: 1, flags: 4, stream: 1, payload: [0x88])

    private static func frame(type: UInt8, flags: UInt8 = 0, stream: UInt8, payload: [UInt8] = []) -> [UInt8] {
        [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
    }
}

extension ReceiverReply {
    fileprivate static func frames(_ head: [[UInt8]], thenRepeatedly frame: [UInt8]) -> ReceiverReply {
        let repeated = [[UInt8]](repeating: frame, count: 16_384 / frame.count)
        return ReceiverReply(content: .raw(ReplyBody(Array(head.joined()), repeating: Array(repeated.joined()))))
    }
}
