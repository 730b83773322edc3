internal import HeraldRuntime

// Reading and writing of connections.
extension ReceiverLoop {
    func ready(_ connection: SenderConnection, _ interest: Interest) {
        if connection.interest.contains(.read) {
            read(connection)
        } else if interest.contains(.error) {
            return close(connection, .close)
        }
        advance(connection)
    }

    private func read(_ connection: SenderConnection) {
        while !connection.isClosed {
            switch connection.stream.read(into: buffer) {
            case .bytes(let count):
                let bytes = [UInt8](UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                connection.receive(bytes[...], limits: limits)
                if connection.conversation?.hasTooMuch ?? false { close(connection, .reset) }
            case .blocked:
                return
            case .end:
                advance(connection)
                close(connection, .close)
            case .failed:
                close(connection, .close)
            }
        }
    }

    /// Handles available requests, and sends available output.
    func advance(_ connection: SenderConnection) {
        guard !connection.isClosed else { return }
        if let conversation = connection.conversation {
            while true {
                let next = conversation.nextRequest()
                if let next { take(next.request, on: next.stream, of: connection) }
                guard send(conversation, to: connection) else { return }
                if next == nil { break }
            }
        }
        if connection.updatesKeys { return updateKeys(connection) }
        watch(connection, isBlocked: false)
    }

    private func updateKeys(_ connection: SenderConnection) {
        for _ in 0..<256 {
            switch connection.stream.updateKeys() {
            case .bytes: continue
            case .blocked: return watch(connection, isBlocked: true)
            case .end, .failed: return close(connection, .close)
            }
        }
        watch(connection, isBlocked: true)
    }

    /// - Returns: whether everything is sent and the connection stays open.
    private func send(_ conversation: any Conversation, to connection: SenderConnection) -> Bool {
        // A limit, for fairness to other connections; epoll reports this one again at once.
        var turns = 4
        while true {
            if connection.unsent.isEmpty {
                if turns == 0 {
                    watch(connection, isBlocked: true)
                    return false
                }
                turns -= 1
                connection.unsent = conversation.output()[...]
                for pause in conversation.takePauses() {
                    later(pause.milliseconds, .drop(connection: connection.number, stream: pause.stream))
                }
                if connection.unsent.isEmpty { break }
            }
            switch connection.unsent.withUnsafeBytes({ connection.stream.write($0) }) {
            case .bytes(let count):
                connection.unsent = connection.unsent.dropFirst(count)
            case .blocked:
                watch(connection, isBlocked: true)
                return false
            case .end, .failed:
                close(connection, .close)
                return false
            }
        }
        if let ending = conversation.ending {
            close(connection, ending)
            return false
        }
        return true
    }

    private func watch(_ connection: SenderConnection, isBlocked: Bool) {
        guard connection.interest.contains(.read) else { return }
        let interest: Interest = isBlocked || connection.stream.wantsToWrite ? [.read, .write] : .read
        guard interest != connection.interest else { return }
        connection.interest = interest
        do {
            try epoll.modify(connection.stream.descriptor, interest)
        } catch {
            close(connection, .reset)
        }
    }

    private func take(_ request: ReceivedRequest, on stream: Int32, of connection: SenderConnection) {
        connection.requestCount += 1
        var request = request
        request.connection = connection.number
        request.position = connection.requestCount
        request.receivedAt = clock.monotonic()
        recording.append(request)
        let reply = script(request)
        let work = Work.reply(connection: connection.number, stream: stream)
        switch reply.hold {
        case .nothing:
            perform(reply, on: stream, of: connection)
            return
        case .milliseconds(let milliseconds): later(milliseconds, work)
        case .gate(let gate): gate.whenOpen { [mailbox] in mailbox.post(work) }
        case .forever: return
        }
        connection.held[stream] = reply
    }

    func perform(_ reply: ReceiverReply, on stream: Int32, of connection: SenderConnection) {
        if case .keyUpdates = reply.content { connection.updatesKeys = true }
        connection.conversation?.perform(reply, on: stream)
    }
}
