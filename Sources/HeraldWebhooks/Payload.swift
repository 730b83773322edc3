import HeraldCore

/// What a callback sends, in the format of its delegate.
struct Payload {
    /// Those of `range` are the body: what is signed and sent.
    let bytes: [UInt8]
    let range: Range<Int>
    /// Headers that this event has in this format.
    let headers: [KeyValue]

    init(_ bytes: [UInt8], _ range: Range<Int>? = nil, headers: [KeyValue] = []) {
        self.bytes = bytes
        self.range = range ?? bytes.indices
        self.headers = headers
    }

    /// The `content-type` of all events in this format; `nil`: it is among the `headers` of each.
    static func contentType(_ format: WebhookSettings.Format) -> String? {
        switch format {
        case .standard: "application/json"
        case .cloudevents: CloudEventFormat.structuredContentType
        case .cloudeventsBinary: nil
        }
    }
}

/// Makes payloads. Remembers the newest one of each CloudEvents mode, because an event often goes to several delegates
/// in a row; the standard body is made with the event. Belongs to one sender and its thread.
struct PayloadEncoder {
    /// The CloudEvents `source` of events that came without one.
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
