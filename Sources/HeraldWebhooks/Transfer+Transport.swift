import CHeraldCurl
import HeraldCore

extension Transfer {
    /// Whether the connection had served an earlier request and turned out to be dead before a byte of the response
    /// arrived. libcurl itself tries again if it notices while reading. This covers the other cases, such as a body
    /// that no longer fits into the socket's buffer. At most once per callback.
    func foundDeadConnection(_ code: Int32) -> Bool {
        switch code {
        case HERALD_CURL_SEND, HERALD_CURL_RECEIVE, HERALD_CURL_NOTHING, HERALD_CURL_HTTP2: break
        default: return false
        }
        return headerCount == 0 && !isFresh && herald_easy_connections(easy) == 0
    }

    /// The network timings of the ended transfer. If it failed in a phase, that phase lasted until the end.
    /// - Parameters:
    ///   - isComplete: the whole request was sent.
    ///   - end: nanoseconds of the monotonic clock.
    func transport(isSecure: Bool, isComplete: Bool, end: Int64) -> TransportRecord {
        var record = TransportRecord()
        record.peer = peer
        record.lookup = (lookedUpAt - startedAt) / 1000
        // libcurl counts and times a connection only once it is ready, and so never one whose TLS handshake fails.
        if hasDialled || herald_easy_connections(easy) > 0 {
            let failed = (end - dialledAt) / 1000
            let began = tlsBeganAt > 0 ? (tlsBeganAt - dialledAt) / 1000 : failed
            let timed = herald_easy_connect_time(easy)
            let connected = timed > 0 ? timed : began
            record.connect = (dialledAt - lookedUpAt) / 1000 + connected
            if isSecure {
                let ready = herald_easy_tls_time(easy)
                record.tls = max((ready > 0 ? ready : failed) - connected, 0)
            }
        } else {
            record.isReused = !peer.isEmpty
        }
        if answeredAt > 0 {
            let ready = startedAt / 1000 + record.lookup + record.connect + record.tls
            record.firstByte = max(answeredAt / 1000 - ready, 0)
        }
        record.bytesSent = isComplete ? Int64(bodySize) : herald_easy_uploaded(easy)
        record.bytesReceived = Int64(bodyCount)
        return record
    }
}
