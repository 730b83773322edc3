import Glibc
internal import HeraldRuntime

// Accepting and closing connections.
extension ReceiverLoop {
    func acceptAll() {
        while isAccepting, let listener {
            if connections.count >= configuration.maxConnections { return pauseAccepting() }
            let descriptor = accept(listener.descriptor, nil, nil)
            guard descriptor >= 0 else {
                if errno == EMFILE || errno == ENFILE {
                    pauseAccepting()
                    later(100, .acceptAgain)
                }
                return
            }
            // Swift can't call accept4, which would do this by itself.
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            welcome(descriptor)
        }
    }

    private func welcome(_ descriptor: Int32) {
        count += 1
        recording.recordConnection()
        let welcome = configuration.welcome(count)
        let session = welcome == .serve ? tls?.accept(descriptor) : nil
        let stream = ByteStream(descriptor: descriptor, tls: session)
        switch welcome {
        case .close: return stream.close(.close)
        case .reset: return stream.close(.reset)
        case .serve where tls != nil && session == nil: return stream.close(.reset)
        case .serve, .ignore: break
        }
        let connection = SenderConnection(number: count, stream: stream)
        connection.interest = welcome == .serve ? .read : []
        do {
            try epoll.add(descriptor, connection.interest)
        } catch {
            return stream.close(.reset)
        }
        connections[descriptor] = connection
        byNumber[count] = connection
    }

    func close(_ connection: SenderConnection, _ ending: Ending) {
        guard !connection.isClosed else { return }
        connection.isClosed = true
        connections[connection.stream.descriptor] = nil
        byNumber[connection.number] = nil
        // Closing the descriptor removes it from epoll.
        connection.stream.close(ending)
        resumeAccepting()
    }

    /// Further connections wait in the system's queue.
    private func pauseAccepting() {
        guard isAccepting, let listener else { return }
        isAccepting = false
        try? epoll.modify(listener.descriptor, [])
    }

    func resumeAccepting() {
        guard !isAccepting, !isStopping, let listener else { return }
        isAccepting = true
        try? epoll.modify(listener.descriptor, .read)
    }
}
