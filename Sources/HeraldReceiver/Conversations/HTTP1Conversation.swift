/// HTTP/1.1: one request at a time. Pipelined requests wait.
final class HTTP1Conversation: Conversation {
    private let limits: ConversationLimits
    private var parser: HTTP1Parser
    private var payload = ReplyBody([])
    private var newPauses: [Pause] = []
    /// A request was returned, and its response is not finished.
    private var request: ReceivedRequest?
    private var isPerforming = false
    private var planned: Ending?

    init(limits: ConversationLimits) {
        self.limits = limits
        parser = HTTP1Parser(maxBodyBytes: limits.bodyBytes)
    }

    func receive(_ bytes: ArraySlice<UInt8>) { parser.append(bytes) }

    var hasTooMuch: Bool { parser.bufferedBytes > limits.bodyBytes + 2 * ConversationLimits.headBytes }

    func nextRequest() -> (stream: Int32, request: ReceivedRequest)? {
        guard request == nil, planned == nil else { return nil }
        while true {
            switch parser.next() {
            case .incomplete:
                return nil
            case .awaitsContinue:
                payload = ReplyBody(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
            case .malformed(let status, let what):
                send(.init(status: status, headers: [], body: ReplyBody(Array((what + "\n").utf8))), isToHead: false)
                planned = .close
                return nil
            case .request(let complete):
                request = complete
                return (0, complete)
            }
        }
    }

    func perform(_ reply: ReceiverReply, on stream: Int32) {
        guard let request else { return }
        isPerforming = true
        switch reply.end {
        case .keepOpen: planned = parser.isLast ? .close : nil
        case .close, .refuse: planned = .close
        case .reset: planned = .reset
        }
        switch reply.content {
        case .answer(let answer): send(answer, isToHead: request.method == "HEAD")
        case .raw(let bytes): payload = bytes
        case .keyUpdates, .nothing: break
        }
    }

    private func send(_ answer: ReceiverReply.Answer, isToHead: Bool) {
        var head = "HTTP/1.1 \(answer.status) \(StatusText.of(answer.status))\r\n"
        for (name, value) in answer.headers { head += "\(name): \(value)\r\n" }
        let hasBody = answer.status >= 200 && answer.status != 204 && answer.status != 304
        let length = answer.announcedLength ?? answer.body.count
        if hasBody {
            head += length.map { "content-length: \($0)\r\n" } ?? "transfer-encoding: chunked\r\n"
        }
        if request == nil || parser.isLast { head += "connection: close\r\n" }
        let bytes = Array((head + "\r\n").utf8)
        let body = length == nil ? answer.body.inChunks() : answer.body
        payload = hasBody && !isToHead ? body.following(bytes) : body.replaced(by: bytes)
    }

    func output() -> [UInt8] {
        let bytes = Array(payload.take(ConversationLimits.outputBytes, of: 0, &newPauses))
        if isPerforming, payload.isExhausted {
            isPerforming = false
            request = nil
        }
        return bytes
    }

    func takePauses() -> [Pause] {
        defer { newPauses = [] }
        return newPauses
    }

    func resume(_ stream: Int32) { payload.resume() }

    var ending: Ending? { request == nil && payload.isExhausted ? planned : nil }
}

extension ReplyBody {
    /// As chunks of the transfer coding. For endless bodies.
    fileprivate func inChunks() -> ReplyBody {
        mapped { bytes in Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [13, 10] }
    }
}
