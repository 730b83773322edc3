import CHeraldCurl
import CHeraldReads
import CHeraldSSL
import HeraldModel

extension Transfer {
    /// Whether the request was made over a kept connection that ended before a byte of the response arrived.
    func hasLostConnection(_ code: Int32) -> Bool {
        guard isOnKeptConnection, headerCount == 0, !hasReadTooMuch else { return false }
        switch code {
        case HERALD_CURL_SEND, HERALD_CURL_RECEIVE, HERALD_CURL_NOTHING, HERALD_CURL_HTTP2: return true
        default: return isRepeated
        }
    }

    /// No byte of a request was sent, so the receiver cannot have received it.
    var isUnsent: Bool { herald_easy_request_bytes(easy) == 0 }

    /// Why the receiver ended its new TLS connection before a byte of the response, if it has said so.
    func tlsRefusal(_ code: Int32) -> String? {
        let events = tlsEvents.pointee
        guard headerCount == 0, !isOnKeptConnection, events.context != nil else { return nil }
        switch code {
        case HERALD_CURL_SEND, HERALD_CURL_RECEIVE, HERALD_CURL_NOTHING, HERALD_CURL_HTTP2: break
        default: return nil
        }
        if events.alert != 0 {
            return "the receiver ended TLS with the alert: \(String(cString: herald_tls_alert_text(events.alert)))"
        }
        guard events.certificate_requested != 0 else { return nil }
        return target?.tls?.certificate == nil
            ? "the receiver asked for a client certificate, and closed the connection after it got none"
            : "the receiver asked for a client certificate, and closed the connection after it got the delegate's"
    }

    /// Whether the receiver sent more than the connection was allowed to read.
    var hasReadTooMuch: Bool { herald_easy_system_error(easy) == HERALD_READS_SPENT }

    /// The network timings of the ended transfer. If it failed in a phase, that phase lasted until the end.
    /// - Parameters:
    ///   - isComplete: the whole request was sent.
    ///   - end: nanoseconds of the monotonic clock.
    func transport(isSecure: Bool, isComplete: Bool, end: Int64) -> TransportRecord {
        var record = TransportRecord()
        record.peer = peer
        record.lookup = (lookedUpAt - startedAt) / 1000
        // libcurl counts and times a connection only once it is ready, and so never one whose TLS handshake fails.
        if !isOnKeptConnection, hasDialled || herald_easy_connections(easy) > 0 {
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
