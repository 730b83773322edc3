import HeraldHTTP
import HeraldJSON
import HeraldModel

/// Parses CloudEvents 1.0 from an HTTP request, in the three modes of their HTTP protocol binding, into the same drafts
/// as ``EventInput``.
///
/// `id`, `type`, `subject`, `time` and `data` become the event's fields, with Herald's rules. `source`, `dataschema`,
/// extensions, a `datacontenttype` other than `application/json`, and a `time` that milliseconds in UTC do not express
/// become ``Event/attributes``.
enum CloudEventInput {
    enum Form {
        /// One JSON document.
        case structured
        /// An array of them.
        case batch
        /// Attributes in `ce-…` headers, the data in the body.
        case binary

        /// `nil` if the request is not a CloudEvent.
        init?(_ head: RequestHead) {
            if !head.isJSON, let type = head.bytes(of: "Content-Type")?.prefix(while: { $0 != UInt8(ascii: ";") }) {
                switch String(decoding: type, as: UTF8.self).lowercased().filter({ $0 != " " }) {
                case "application/cloudevents+json":
                    self = .structured
                    return
                case "application/cloudevents-batch+json":
                    self = .batch
                    return
                default: break
                }
            }
            guard head.has("ce-specversion") || head.has("ce-type") else { return nil }
            self = .binary
        }
    }

    // MARK: Content types

    static let contentTypes =
        "application/json, application/cloudevents+json or application/cloudevents-batch+json; with ce- headers as JSON"

    /// For `Accept`.
    static let acceptableTypes =
        "application/json, application/cloudevents+json, application/cloudevents-batch+json"

    /// - Parameter type: the content type of the request, in lower case, without parameters.
    static func accepts(_ type: String, _ head: RequestHead) -> Bool {
        switch Form(head) {
        case .structured, .batch: true
        case .binary: isJSON(type)
        case nil: false
        }
    }

    /// A media type in lower case, without parameters.
    private static func isJSON(_ type: some StringProtocol) -> Bool {
        let parts = type.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 && !parts[0].isEmpty && (parts[1] == "json" || parts[1].hasSuffix("+json"))
    }

    // MARK: One event

    /// - Parameter value: the body; for a binary request its ``document(_:)``.
    static func read(
        _ value: JSONValue, at pointer: String, _ context: EventInput.Context, _ errors: inout [FieldError]
    ) -> EventDraft? {
        guard value.kind == .object else {
            errors.append(FieldError(pointer, "must be an object: a CloudEvent"))
            return nil
        }
        let before = errors.count
        var attributes = readAttributes(value, at: pointer, &errors)
        // An attribute of the event overrides that of the request.
        attributes += context.attributes.filter { given in !attributes.contains { $0.key == given.key } }
        let own = EventInput.Context(
            app: context.app, now: context.now, ids: context.ids, attributes: attributes)
        let draft = EventInput.read(value, as: .cloudEvent, at: pointer, own, &errors)
        return errors.count == before ? draft : nil
    }

    // MARK: Attributes

    /// Members that are not fields of Herald's events.
    private static func readAttributes(
        _ event: JSONValue, at pointer: String, _ errors: inout [FieldError]
    ) -> [KeyValue] {
        var attributes: [KeyValue] = []
        let before = errors.count
        func fail(_ name: String, _ detail: String) {
            guard errors.count - before < FieldError.maxReported else { return }
            errors.append(FieldError(JSONPointer.child(pointer, name), detail))
        }
        if event["specversion"]?.isString("1.0") != true { fail("specversion", "must be \"1.0\"") }
        for name in ["id", "source"] where event[name]?.isNull ?? true {
            fail(name, "is required: every CloudEvent has one")
        }
        for (name, value) in event.members where !value.isNull {
            switch name {
            case "specversion", "id", "type", "subject", "data": break
            case CloudEventAttribute.time:
                // `EventInput` reports an invalid one.
                if let time = value.timestamp, let text = value.string, text != time.description {
                    attributes.append(KeyValue(name, text))
                }
            case "data_base64": fail(name, "is not supported: the data of events is JSON, in data")
            default:
                guard CloudEventAttribute.isValid(name) else {
                    fail(name, "is no name of an attribute: those are 1 to 64 of a-z and 0-9")
                    continue
                }
                guard let attribute = EventAttribute(name, value), EventAttribute.isAcceptable(attribute.value),
                    !attribute.isLiteral || !texts.contains(name),
                    value.integer.map({ Int32(exactly: $0) != nil }) ?? true
                else {
                    fail(
                        name,
                        "must be a string of 1 to \(EventAttribute.maxValueBytes) bytes without control characters"
                            + (texts.contains(name) ? "" : ", a boolean or a whole number of 32 bits"))
                    continue
                }
                if let format = formats[name], !format.accepts(attribute.value) {
                    fail(name, "must be \(format == .uri ? "an absolute URI" : "a URI or a relative reference")")
                    continue
                }
                if name == CloudEventAttribute.dataContentType {
                    guard attribute.value.utf8.allSatisfy({ $0 < 0x7f }),
                        isJSON(attribute.value.prefix { $0 != ";" }.lowercased().filter { $0 != " " })
                    else {
                        fail(name, "must be a JSON type, such as application/json: the data of events is JSON")
                        continue
                    }
                    if attribute.value == "application/json" { continue }
                }
                attributes.append(attribute.pair)
            }
        }
        if attributes.count > EventAttribute.maxCount {
            errors.append(
                FieldError(
                    pointer, "must have at most \(EventAttribute.maxCount) attributes beside the fields of events"))
        }
        return attributes
    }

    /// Attributes that must be strings according to the specification.
    private static let texts: Set = [
        CloudEventAttribute.source, CloudEventAttribute.dataSchema, CloudEventAttribute.dataContentType,
    ]

    /// The formats of the attributes that name resources (RFC 3986).
    private static let formats: [String: Format] = [
        CloudEventAttribute.source: .uriReference, CloudEventAttribute.dataSchema: .uri,
    ]

    // MARK: Binary

    /// The JSON document that is equivalent to a binary request.
    static func document(_ request: Request) throws(Problem) -> [UInt8] {
        var problems: [Problem.Item] = []
        func fail(_ header: String, _ detail: String) {
            problems.append(Problem.Item(place: .parameter(header), detail: detail))
        }
        let data = try data(request.body)
        var json = JSONWriter(capacity: request.body.count + 512)
        var names: Set<String> = []
        json.object { event in
            for (header, value) in request.head.fields where header.hasPrefix("ce-") {
                let name = String(header.dropFirst("ce-".count))
                switch name {
                case "datacontenttype": fail(header, "must not be given: Content-Type says it")
                case "data", "data_base64": fail(header, "must not be given: the body is the data")
                case _ where !CloudEventAttribute.isValid(name):
                    fail(header, "is no name of an attribute: those are 1 to 64 of a-z and 0-9")
                case _ where !names.insert(name).inserted: fail(header, "is given twice")
                default:
                    guard let text = CloudEventHeader.decode(value) else {
                        fail(header, "must be UTF-8, percent-encoded")
                        continue
                    }
                    event.member(name, text)
                }
            }
            event.member("datacontenttype", ifPresent: request.head.value(of: "Content-Type"))
            event.member("data", .raw(data))
        }
        guard problems.isEmpty else { throw .validation(problems) }
        return json.bytes
    }

    /// The body, which must be one valid JSON value before it is embedded in a document; an empty body is `null`.
    private static func data(_ body: [UInt8]) throws(Problem) -> [UInt8] {
        if body.isEmpty { return Array("null".utf8) }
        return try JSONDocument(reading: body, limits: JSONLimits(values: PublicationLimits.maxValues)).root.bytes
    }

    /// Maps errors in the document of a binary request to the request.
    static func inHeaders(_ errors: [FieldError]) -> Problem {
        .validation(
            errors.map { error in
                let name = error.pointer.dropFirst().prefix { $0 != "/" }
                let place: Problem.Item.Place =
                    switch name {
                    case "data": .pointer(String(error.pointer.dropFirst("/data".count)))
                    case "datacontenttype": .parameter("Content-Type")
                    case "": .pointer(error.pointer)
                    default: .parameter("ce-" + name)
                    }
                return Problem.Item(place: place, detail: error.detail)
            })
    }
}
