import HeraldModel

/// A request to a collector: `ExportTraceServiceRequest` of the OpenTelemetry protocol, with the spans of one resource.
/// The numbers of the fields are those of https://github.com/open-telemetry/opentelemetry-proto.
struct SpanDocument {
    private static let scope = "herald"
    private enum Kind: Int64 {
        case isInternal = 1
        case server = 2
        case client = 3
    }

    let resource: [KeyValue]
    /// The version of Herald.
    let version: String

    func bytes(_ spans: [EndedSpan]) -> [UInt8] {
        var request = ProtobufWriter()
        request.message(1) { group in
            group.message(1) { resource in
                for attribute in self.resource { resource.attribute(1, attribute.key, attribute.value) }
            }
            group.message(2) { scope in
                scope.message(1) { name in
                    name.text(1, Self.scope)
                    name.text(2, version)
                }
                for span in spans { scope.message(2) { Self.write(span, &$0) } }
            }
        }
        return request.bytes
    }

    private static func write(_ ended: EndedSpan, _ message: inout ProtobufWriter) {
        let span = ended.span
        message.identifier(1, span.context.trace.high, span.context.trace.low)
        message.identifier(2, span.context.span)
        if span.parent != 0 { message.identifier(4, span.parent) }
        message.fixed64(7, UInt64(max(0, span.startedAt)))
        message.fixed64(8, UInt64(max(0, ended.endedAt)))
        switch ended.work {
        case .publish(let request, let events, let eventID, let bytes):
            write(request, &message)
            message.attribute(9, "http.request.body.size", bytes)
            message.attribute(9, "messaging.system", "herald")
            message.attribute(9, "messaging.operation.name", "publish")
            message.attribute(9, "messaging.batch.message_count", events)
            if let eventID { message.attribute(9, "messaging.message.id", eventID) }
        case .refusal(let request): write(request, &message)
        case .commit(let events):
            message.head("commit", Kind.isInternal.rawValue)
            message.attribute(9, "messaging.system", "herald")
            message.attribute(9, "messaging.operation.name", "commit")
            message.attribute(9, "herald.transaction.events", events)
        case .attempt(let attempt): write(attempt, &message)
        }
        message.fixed32(16, 1)  // sampled
    }

    /// A request that was served. By the semantic conventions one that the client caused to fail (4xx) is no error.
    private static func write(_ request: SpanWork.Request, _ message: inout ProtobufWriter) {
        message.head([request.method, request.route].compactMap(\.self).joined(separator: " "), Kind.server.rawValue)
        message.attribute(9, "http.request.method", request.method)
        if let route = request.route { message.attribute(9, "http.route", route) }
        message.attribute(9, "http.response.status_code", request.status)
        if request.status >= 500 { message.failed(String(request.status)) }
    }

    /// The URL itself is left out, because it may contain a secret.
    private static func write(_ attempt: SpanWork.Attempt, _ message: inout ProtobufWriter) {
        let settings = attempt.delegate.settings
        let server = ServerAddress(settings.url)
        let method = (settings.request?.method ?? .post).rawValue
        message.head(method, Kind.client.rawValue)
        message.attribute(9, "http.request.method", method)
        message.attribute(9, "url.scheme", server.scheme)
        message.attribute(9, "server.address", server.host)
        message.attribute(9, "server.port", server.port)
        if let peer = PeerName(attempt.transport.peer) {
            message.attribute(9, "network.peer.address", peer.address)
            message.attribute(9, "network.peer.port", peer.port)
        }
        if attempt.number > 1 { message.attribute(9, "http.request.resend_count", attempt.number - 1) }
        message.attribute(9, "http.request.body.size", Int(attempt.transport.bytesSent))
        message.attribute(9, "messaging.system", "herald")
        message.attribute(9, "messaging.operation.name", "deliver")
        message.attribute(9, "messaging.operation.type", "send")
        message.attribute(9, "messaging.message.id", attempt.eventID)
        message.attribute(9, "messaging.destination.subscription.name", attempt.delegate.id)
        message.attribute(9, "herald.event.type", attempt.eventType)
        message.attribute(9, "herald.attempt", attempt.number)
        if attempt.isReplay { message.attribute(9, "herald.replay", "true") }
        switch attempt.verdict {
        case .answered(let status, _):
            message.attribute(9, "http.response.status_code", status)
            if !(200...299).contains(status) { message.failed(String(status)) }
        case .failed(let failure, let detail): message.failed(failure.rawValue, detail)
        }
    }
}

extension ProtobufWriter {
    fileprivate mutating func head(_ name: String, _ kind: Int64) {
        text(5, name)
        number(6, kind)
    }

    fileprivate mutating func attribute(_ field: Int, _ name: String, _ value: String) {
        attribute(field, name) { $0.text(1, value) }
    }

    fileprivate mutating func attribute(_ field: Int, _ name: String, _ value: Int) {
        attribute(field, name) { $0.number(3, Int64(value)) }
    }

    private mutating func attribute(_ field: Int, _ name: String, _ value: (inout ProtobufWriter) -> Void) {
        message(field) { pair in
            pair.text(1, name)
            pair.message(2, value)
        }
    }

    /// The status `ERROR`, and its kind.
    fileprivate mutating func failed(_ kind: String, _ detail: String = "") {
        attribute(9, "error.type", kind)
        message(15) { status in
            if !detail.isEmpty { status.text(2, detail) }
            status.number(3, 2)
        }
    }
}

/// The server of a valid callback URL.
struct ServerAddress: Equatable {
    let scheme: String
    let host: String
    let port: Int

    init(_ url: String) {
        scheme = url.hasPrefix("https:") ? "https" : "http"
        let authority = url.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let normal = scheme == "https" ? 443 : 80
        if let peer = PeerName(String(authority)) {
            host = peer.address
            port = peer.port
        } else {
            host = String(authority.drop { $0 == "[" }.prefix { $0 != "]" })
            port = normal
        }
    }
}

/// A host and a port: `127.0.0.1:80`, `[::1]:80` or `host.example:80`.
struct PeerName: Equatable {
    let address: String
    let port: Int

    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("[") { host = host.dropFirst().prefix { $0 != "]" } }
        address = String(host)
        self.port = port
    }
}
