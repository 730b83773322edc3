internal import CHeraldNGHTTP2

/// HTTP/2 with libnghttp2: many concurrent requests.
final class HTTP2Conversation: Conversation {
    /// A request while it is received, then its response while it is sent.
    struct Stream {
        var headers: [(name: String, value: String)] = []
        /// Bytes of names and values.
        var headBytes = 0
        var body: [UInt8] = []
        var payload = ReplyBody([])
        /// The response is truncated.
        var breaksOff = false
        /// The end of the stream after the response.
        var ending: Ending?
    }

    let limits: ConversationLimits
    /// `nil` without memory; the connection ends then.
    private var session: OpaquePointer?
    /// Streams without a complete response that were not reset.
    var streams: [Int32: Stream] = [:]
    var complete: [Int32] = []
    var newPauses: [Pause] = []
    /// Set when the content of a reply that ends the connection was sent.
    var planned: Ending?
    /// Bytes that bypass the protocol.
    private var raw = ReplyBody([])

    init(limits: ConversationLimits) {
        self.limits = limits
        var callbacks = HTTP2Callbacks.table
        session = herald_h2_new(
            &callbacks, Unmanaged.passUnretained(self).toOpaque(), ConversationLimits.concurrentStreams,
            UInt32(ConversationLimits.headBytes))
        if session == nil { planned = .close }
    }

    deinit { nghttp2_session_del(session) }

    func receive(_ bytes: ArraySlice<UInt8>) {
        guard let session else { return }
        let taken = bytes.withUnsafeBytes {
            nghttp2_session_mem_recv(session, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count)
        }
        // Errors of the client were reported with GOAWAY if possible.
        if taken < 0 { planned = .close }
    }

    /// The library enforces flow control.
    var hasTooMuch: Bool { false }

    func nextRequest() -> (stream: Int32, request: ReceivedRequest)? {
        // Some may have been reset in the meantime.
        complete.removeAll { streams[$0] == nil }
        guard let id = complete.first, let stream = streams[id] else { return nil }
        complete.removeFirst()
        func pseudo(_ name: String) -> String { stream.headers.first { $0.name == name }?.value ?? "" }
        var headers = stream.headers.filter { !$0.name.hasPrefix(":") }
        if !headers.contains(where: { $0.name == "host" }) { headers.insert(("host", pseudo(":authority")), at: 0) }
        let received = ReceivedRequest(
            version: .http2, method: pseudo(":method"), path: pseudo(":path"), headers: headers, body: stream.body)
        return (id, received)
    }

    func perform(_ reply: ReceiverReply, on stream: Int32) {
        guard session != nil, streams[stream] != nil else { return }
        let ending: Ending? =
            switch reply.end {
            case .keepOpen, .refuse: nil
            case .close: .close
            case .reset: .reset
            }
        switch reply.content {
        case .answer(let answer):
            streams[stream]?.ending = ending
            submit(answer, on: stream)
        case .raw(let bytes):
            raw = bytes
            if let ending { planned = ending }
        case .keyUpdates, .nothing:
            if let ending { planned = ending }
        }
        if reply.end == .refuse { reset(stream, code: HERALD_H2_REFUSED_STREAM) }
    }

    private func submit(_ answer: ReceiverReply.Answer, on stream: Int32) {
        var headers = [(name: ":status", value: String(answer.status))]
        let connectionHeaders: Set = ["connection", "transfer-encoding", "keep-alive", "upgrade", "proxy-connection"]
        for (name, value) in answer.headers where !connectionHeaders.contains(name.lowercased()) {
            headers.append((name.lowercased(), value))
        }
        let isToHead = streams[stream]?.headers.contains { $0.name == ":method" && $0.value == "HEAD" } ?? false
        let hasBody = answer.status != 204 && answer.status != 304
        if hasBody, let length = answer.announcedLength ?? answer.body.count {
            headers.append(("content-length", String(length)))
        }
        let payload = hasBody && !isToHead ? answer.body : ReplyBody([])
        streams[stream]?.breaksOff = answer.announcedLength != nil && !isToHead
        streams[stream]?.payload = payload
        if HTTP2Callbacks.submit(headers, on: stream, of: session) != 0 { planned = .close }
    }

    func reset(_ stream: Int32, code: UInt32) {
        nghttp2_submit_rst_stream(session, HERALD_H2_FLAG_NONE, stream, code)
        streams[stream] = nil
    }

    func output() -> [UInt8] {
        if !raw.isExhausted { return Array(raw.take(ConversationLimits.outputBytes, of: 0, &newPauses)) }
        guard let session else { return [] }
        var bytes: [UInt8] = []
        while planned != .reset, bytes.count < ConversationLimits.outputBytes {
            var chunk: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &chunk)
            guard count > 0 else {
                if count < 0 { planned = .close }
                break
            }
            bytes.append(contentsOf: UnsafeBufferPointer(start: chunk, count: count))
        }
        return bytes
    }

    func takePauses() -> [Pause] {
        defer { newPauses = [] }
        return newPauses
    }

    func resume(_ stream: Int32) {
        if stream == 0 {
            raw.resume()
        } else if streams[stream] != nil {
            streams[stream]?.payload.resume()
            nghttp2_session_resume_data(session, stream)
        }
    }

    var ending: Ending? {
        if !raw.isExhausted { return nil }
        if let planned { return planned }
        let isOver = nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
        return isOver ? .close : nil
    }
}
