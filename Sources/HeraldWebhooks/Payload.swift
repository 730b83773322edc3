import HeraldModel

/// The content of a callback, in the format of its delegate.
struct Payload {
    /// The bytes in `range` are the body, which is signed and sent.
    let bytes: [UInt8]
    let range: Range<Int>
    /// The headers of this event in this format.
    let headers: [KeyValue]

    init(_ bytes: [UInt8], _ range: Range<Int>? = nil, headers: [KeyValue] = []) {
        self.bytes = bytes
        self.range = range ?? bytes.indices
        self.headers = headers
    }

    var headerBytes: Int { headers.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } }

    /// The `content-type` of all events in this format; `nil` if it varies and is in the `headers` of each event.
    static func contentType(_ format: WebhookSettings.Format) -> String? {
        switch format {
        case .standard: "application/json"
        case .cloudevents: CloudEventFormat.structuredContentType
        case .cloudeventsBinary: nil
        }
    }
}

/// Encodes payloads. Caches the latest one of each CloudEvents mode, because an event often goes to several delegates
/// in a row; the standard body is made with the event. Owned by one sender and confined to its thread.
struct PayloadEncoder {
    /// The CloudEvents `source` of events that have none.
    let source: String
    private var structured: (event: Event, payload: Payload)?
    private var binary: (event: Event, payload: Payload)?

    init(source: String) { self.source = source }

    mutating func payload(_ event: Event, _ format: WebhookSettings.Format) -> Payload {
        switch format {
        case .standard:
            return Payload(event.body)
        case .cloudevents:
            if let structured, structured.event === event { return structured.payload }
            let payload = Payload(CloudEventFormat.structuredBody(event, source: source))
            structured = (event, payload)
            return payload
        case .cloudeventsBinary:
            if let binary, binary.event === event { return binary.payload }
            let type = KeyValue("content-type", CloudEventFormat.binaryContentType(event))
            let headers = [type] + CloudEventFormat.binaryHeaders(event, source: source)
            let payload = Payload(event.body, event.dataRange, headers: headers)
            binary = (event, payload)
            return payload
        }
    }
}
