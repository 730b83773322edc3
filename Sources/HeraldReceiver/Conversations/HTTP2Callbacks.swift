internal import CHeraldNGHTTP2

/// Callbacks of libnghttp2: called within `nghttp2_session_mem_recv` and `nghttp2_session_mem_send`, on the thread that
/// calls those. The owner is the conversation, which outlives its session.
enum HTTP2Callbacks {
    static let table = herald_h2_callbacks(
        begin: beginHeaders, header: takeHeader, data: takeData, frame: takeFrame, close: closeStream)

    /// Submits the header section of a response; the library requests its body later.
    static func submit(_ headers: [(name: String, value: String)], on stream: Int32, of session: OpaquePointer?)
        -> Int32
    {
        // Pointers into one block that contains all names and values; the library copies them.
        var block: [UInt8] = []
        for (name, value) in headers { block += Array(name.utf8) + Array(value.utf8) }
        return block.withUnsafeMutableBufferPointer { block in
            var fields: [nghttp2_nv] = []
            var offset = 0
            for (name, value) in headers {
                let (nameLength, valueLength) = (name.utf8.count, value.utf8.count)
                fields.append(
                    nghttp2_nv(
                        name: block.baseAddress.map { $0 + offset },
                        value: block.baseAddress.map { $0 + offset + nameLength }, namelen: nameLength,
                        valuelen: valueLength, flags: 0))
                offset += nameLength + valueLength
            }
            var provider = nghttp2_data_provider(source: nghttp2_data_source(fd: 0), read_callback: giveData)
            return nghttp2_submit_response(session, stream, fields, fields.count, &provider)
        }
    }
}

private func conversation(_ owner: UnsafeMutableRawPointer?) -> HTTP2Conversation? {
    owner.map { Unmanaged<HTTP2Conversation>.fromOpaque($0).takeUnretainedValue() }
}

private func beginHeaders(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ owner: UnsafeMutableRawPointer?
) -> Int32 {
    if let frame, let conversation = conversation(owner), frame.pointee.hd.type == HERALD_H2_HEADERS {
        // Trailers belong to an existing stream.
        let id = frame.pointee.hd.stream_id
        if conversation.streams[id] == nil { conversation.streams[id] = HTTP2Conversation.Stream() }
    }
    return 0
}

private func takeHeader(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?, _ nameLength: Int,
    _ value: UnsafePointer<UInt8>?, _ valueLength: Int, _: UInt8, _ owner: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame, let conversation = conversation(owner) else { return 0 }
    let id = frame.pointee.hd.stream_id
    guard let size = conversation.streams[id]?.headBytes else { return 0 }
    guard size + nameLength + valueLength <= ConversationLimits.headBytes else {
        conversation.reset(id, code: HERALD_H2_ENHANCE_YOUR_CALM)
        return 0
    }
    let field = (text(name, nameLength), text(value, valueLength))
    conversation.streams[id]?.headBytes += nameLength + valueLength
    conversation.streams[id]?.headers.append(field)
    return 0
}

private func text(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> String {
    String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
}

private func takeData(
    _: OpaquePointer?, _: UInt8, _ id: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int,
    _ owner: UnsafeMutableRawPointer?
) -> Int32 {
    guard let conversation = conversation(owner), let size = conversation.streams[id]?.body.count else { return 0 }
    if size + count > conversation.limits.bodyBytes {
        conversation.reset(id, code: HERALD_H2_ENHANCE_YOUR_CALM)
    } else {
        conversation.streams[id]?.body.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
    }
    return 0
}

private func takeFrame(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ owner: UnsafeMutableRawPointer?
) -> Int32 {
    guard let head = frame?.pointee.hd, let conversation = conversation(owner) else { return 0 }
    let endsStream = head.flags & HERALD_H2_FLAG_END_STREAM != 0
    if endsStream, head.type == HERALD_H2_HEADERS || head.type == HERALD_H2_DATA,
        conversation.streams[head.stream_id] != nil
    {
        conversation.complete.append(head.stream_id)
    }
    return 0
}

private func closeStream(_: OpaquePointer?, _ id: Int32, _: UInt32, _ owner: UnsafeMutableRawPointer?) -> Int32 {
    guard let conversation = conversation(owner) else { return 0 }
    if let stream = conversation.streams.removeValue(forKey: id), let ending = stream.ending {
        conversation.planned = ending
    }
    conversation.complete.removeAll { $0 == id }
    return 0
}

/// The next bytes of a response's body.
private func giveData(
    _: OpaquePointer?, _ id: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ room: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _: UnsafeMutablePointer<nghttp2_data_source>?,
    _ owner: UnsafeMutableRawPointer?
) -> Int {
    guard let conversation = conversation(owner), var stream = conversation.streams[id] else { return 0 }
    defer { conversation.streams[id] = stream }
    if stream.payload.isPausing { return HERALD_H2_LATER }
    if stream.payload.isExhausted {
        if stream.breaksOff {
            // The body is endless; the connection ends instead.
            conversation.planned = stream.ending
            return HERALD_H2_LATER
        }
        flags?.pointee |= HERALD_H2_DATA_FLAG_EOF
        return 0
    }
    let bytes = stream.payload.take(room, of: id, &conversation.newPauses)
    bytes.withUnsafeBytes { source in
        if let from = source.baseAddress {
            buffer?.update(from: from.assumingMemoryBound(to: UInt8.self), count: source.count)
        }
    }
    if stream.payload.isExhausted, !stream.breaksOff { flags?.pointee |= HERALD_H2_DATA_FLAG_EOF }
    return bytes.count
}
