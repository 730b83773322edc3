internal import CHeraldMicrohttpd
internal import CHeraldMicrohttpdErrors
import Glibc
internal import HeraldRuntime
internal import Synchronization

// Streams over TLS: see StreamPassage.
extension ServerLoop {
    /// - Precondition: the connection is suspended, its request complete.
    func openPassage(_ connection: Connection, _ start: StreamStart) {
        guard let (passage, far) = StreamPassage.open(connection) else {
            return resume(connection, failure(.overloaded))
        }
        guard let response = passage.makeResponse() else {
            close(far)
            return resume(connection, failure(.overloaded))
        }
        endWait(of: connection)
        counters.countAnswer(200)
        connection.phase = .detached
        connection.passage = passage
        setDeadline(connection, seconds: configuration.idleTimeoutSeconds)
        add(start.headers, to: response)
        herald_mhd_add_field(response, "Connection", "close")
        // One that isn't taken closes the connection, and with it the passage: the stream ends as if its client had left.
        _ = herald_mhd_queue(connection.handle, 200, response)
        MHD_resume_connection(connection.handle)
        connection.isDetached = true
        streams.boundUnread(herald_mhd_descriptor(connection.handle))
        streams.open(start, far, connection.peer, writesHead: false)
    }

    /// Until something comes through or the client leaves.
    func watch(_ passage: StreamPassage, of connection: Connection) -> Bool {
        let client = herald_mhd_descriptor(connection.handle)
        guard let epoll = passageEpoll, client >= 0 else { return false }
        do throws(SystemError) {
            try epoll.add(passage.near, [.read, .hangUp])
            try epoll.add(client, .hangUp)
        } catch {
            return false
        }
        passages[passage.near] = passage
        passages[client] = passage
        return true
    }

    func forget(_ passage: StreamPassage, of connection: Connection) {
        for descriptor in [passage.near, herald_mhd_descriptor(connection.handle)] {
            passages[descriptor] = nil
            try? passageEpoll?.remove(descriptor)
        }
    }

    /// Between two runs of the library.
    func lookAtPassages() {
        var ready: [(descriptor: Int32, interest: Epoll.Interest)] = []
        passageEpoll?.wait(milliseconds: 0) { ready.append(($0, $1)) }
        for (descriptor, _) in ready {
            guard let passage = passages[descriptor] else { continue }
            // The client's socket is only watched for its end.
            passage.resume(isOver: descriptor != passage.near)
        }
    }
}
