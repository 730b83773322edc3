internal import CHeraldMicrohttpd
internal import Synchronization

// The life of a connection and of each request on it, in the order of its phases. Functions that return a Bool close
// the connection with `false`.
extension ServerLoop {
    func add(_ handle: OpaquePointer, _ peer: PeerAddress) -> ClientConnection {
        hasAdvanced = true
        accepted += 1
        let connection = ClientConnection(self, peer: peer, handle: handle, number: accepted)
        let arrival = arrival.take()
        connection.certificate = arrival?.certificate
        connection.since = arrival?.since ?? now
        setDeadline(connection, connection.since + Int64(configuration.requestDeadlineSeconds) * 1_000_000_000)
        connection.index = connections.count
        connections.append(connection)
        counters.openConnections.addFromOneThread(1)
        if connection.isProxied { return connection }
        if arrival == nil { addresses.opened(peer) }
        shares.add(peer)
        makeOwnRoom(for: connection)
        return connection
    }

    func remove(_ connection: ClientConnection) {
        refuseFirstLine(of: connection)
        connection.phase = .closed
        connection.reset()
        // The last one moves to the free index.
        let last = connections.removeLast()
        if last !== connection {
            last.index = connection.index
            connections[connection.index] = last
        }
        mustRunAgain = true
        counters.openConnections.addFromOneThread(-1)
        if connection.isCounted { addresses.closed(connection.peer) }
        leaveShare(connection)
        if connection.isClosing { closing -= 1 }
    }

    /// The connection no longer takes a place of its client.
    func leaveShare(_ connection: ClientConnection) {
        guard connection.isShared else { return }
        connection.isShared = false
        shares.remove(connection.peer)
    }

    /// The request line has arrived. The target is copied now, because the library is about to modify it in place.
    func begin(_ connection: ClientConnection, _ target: RawHead.Bytes) {
        hasAdvanced = true
        connection.phase = .head
        connection.target.append(contentsOf: target)
        if !connection.isFresh {
            connection.since = now
            setDeadline(connection, seconds: configuration.requestDeadlineSeconds)
        }
        connection.isFresh = false
    }

    /// The header section has arrived, the body has not: the only moment to refuse the body unread.
    func readHead(
        _ connection: ClientConnection, _ method: RawHead.Bytes, _ version: RawHead.Bytes, _ layout: HeadLayout
    ) -> Bool {
        // What had arrived before the connection was cut can still be read.
        if connection.isClosing { return false }
        let head: RequestHead
        do {
            let raw = try rawHead(connection, method, version, layout)
            connection.origin = raw.value(of: "Origin").map { String(decoding: raw.bytes[$0], as: UTF8.self) }
            head = try rules.check(raw)
        } catch {
            return leave(connection, failure(error, of: connection), isToHead: method.elementsEqual("HEAD".utf8))
        }
        connection.wantsEventStream = head.acceptsOnlyEventStream
        if connection.isProxied, !countClient(of: connection, head) {
            return leave(connection, failure(.tooManyOfAddress, of: connection), isToHead: head.method == .head)
        }
        if connection.usesReserve, !mayUseReserve(connection, head) {
            addresses.countRefusal(of: connection.peer)
            return leave(connection, failure(.tooManyOfAddress, of: connection), isToHead: head.method == .head)
        }
        switch handler.authorize(head, from: connection.peer) {
        case .refused(let refusal) where refusal.holdMilliseconds > 0: return hold(connection, refusal)
        case .refused(let refusal):
            if head.hasBody { return leave(connection, refusal, isToHead: head.method == .head) }
            // A response at this point would close the connection; the end of the request follows at once.
            connection.immediate = refusal
            connection.phase = .refused
            return true
        case .admitted(let admitted): connection.admitted = admitted
        }
        connection.head = head
        // Reserved memory is not touched before it is used: a client can't consume memory with `Content-Length` alone.
        if let length = head.contentLength { connection.body.reserveCapacity(length) }
        if head.isChunked {
            checkChunks(of: connection, after: layout.end(headSize: herald_mhd_head_size(connection.handle)))
            connection.isLast = true
        }
        connection.phase = .body
        return true
    }

    /// Whether a connection that was beyond the limit of its address may make this request.
    private func mayUseReserve(_ connection: ClientConnection, _ head: RequestHead) -> Bool {
        connection.usesReserve = addresses.excess(of: connection.peer) > 0
        return !connection.usesReserve || handler.mayUseReserve(head)
    }

    private func rawHead(
        _ connection: ClientConnection, _ method: RawHead.Bytes, _ version: RawHead.Bytes, _ layout: HeadLayout
    ) throws(RequestFailure) -> RawHead {
        let count = Int(herald_mhd_read_fields(connection.handle, fields.baseAddress, UInt32(fields.count)))
        let size = herald_mhd_head_size(connection.handle)
        // The rest of the connection's memory is for the response's header section.
        if size > configuration.maxHeadBytes / 32,
            herald_mhd_head_memory(connection.handle) > configuration.maxHeadBytes
        {
            throw .headTooLarge(limit: configuration.maxHeadBytes)
        }
        if herald_mhd_tells_layout() != 0, count <= RawHead.maxFields {
            var layout = layout
            for field in fields[..<count] { layout.add(field) }
            guard layout.isWhole(size) else { throw .malformed(.line) }
        }
        let parts = fields[..<count].lazy.map { field in
            (name: bytes(field.name, field.name_length), value: trimmed(bytes(field.value, field.value_length)))
        }
        let head = connection.target.withUnsafeBufferPointer { target in
            RawHead(method: method, target: target, version: version, fields: parts)
        }
        guard let head else { throw .tooManyFields }
        return head
    }

    /// A piece of the body. It must always be consumed; otherwise the library would wait for ever.
    func take(_ connection: ClientConnection, _ data: RawHead.Bytes) -> Bool {
        hasAdvanced = true
        if connection.phase == .body, connection.chunks?.areKept == false {
            return leave(connection, failure(.malformed(.chunk), of: connection))
        }
        switch connection.phase {
        case .body where connection.body.count + data.count <= configuration.maxBodyBytes:
            connection.body.append(contentsOf: data)
            if !count(connection.body.count, of: connection) {
                return leave(connection, failure(.overloaded, of: connection))
            }
        case .body: return leave(connection, failure(.bodyTooLarge, of: connection))
        default: break
        }
        return true
    }

    /// The request is complete.
    func complete(_ connection: ClientConnection) -> Bool {
        switch connection.phase {
        case .body:
            hasAdvanced = true
            if connection.chunks?.areKept == false {
                return leave(connection, failure(.malformed(.chunk), of: connection))
            }
        case .waiting: return keepWaiting(connection)
        case .refused, .held: return connection.immediate.take().map { queue(connection, $0) } ?? false
        default: return false
        }
        guard let head = connection.head.take(), let admitted = connection.admitted.take() else { return false }
        if isStopping { return queue(connection, failure(.stopping, of: connection)) }
        if !hasRoomToWait, handler.mayWait(head) { return queue(connection, failure(.overloaded, of: connection)) }

        var body: [UInt8] = []
        swap(&body, &connection.body)
        forgetBytes(of: connection)
        let request = Request(head: head, body: body, peer: connection.peer)
        connection.phase = .handling
        connection.onlyReads = head.method == .get || head.method == .head
        admitted.handle(request, Responder(connection, request: connection.request))
        if let response = connection.immediate {
            connection.immediate = nil
            return response.holdMilliseconds > 0 ? hold(connection, response) : queue(connection, response)
        }
        beginWait(of: connection)
        return true
    }

    private var hasRoomToWait: Bool {
        counters.waitingRequests.load(ordering: .relaxed) * configuration.loops < configuration.maxWaiting
    }

    /// The response is written, or the request was aborted.
    func finish(_ connection: ClientConnection) {
        hasAdvanced = true
        connection.finishedIn = round
        connection.finishedAfterRead = lastRead.number
        if connection.phase == .left { return }
        if connection.isWaiting { endWait(of: connection) }
        connection.phase = .idle
        // Its bytes are those of the client.
        connection.reset()
        if connection.isProxied { forgetClient(of: connection) }
        connection.since = now
        connection.isUnseen = true
        if connection.request == 1 { answeredFirst.append(connection) }
        setDeadline(connection, now + Self.unseenNanoseconds)
    }
}

private func bytes(_ start: UnsafePointer<CChar>?, _ count: Int) -> RawHead.Bytes {
    RawHead.Bytes(start: UnsafeRawPointer(start)?.assumingMemoryBound(to: UInt8.self), count: count)
}

/// Without trailing white space, which is not part of a value. The library removes leading white space.
private func trimmed(_ value: RawHead.Bytes) -> RawHead.Bytes {
    var count = value.count
    while count > 0, value[count - 1] == 0x20 || value[count - 1] == 0x09 { count -= 1 }
    return RawHead.Bytes(start: value.baseAddress, count: count)
}
