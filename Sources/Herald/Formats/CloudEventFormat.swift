import JSON

/// Events as CloudEvents 1.0, to be sent over HTTP: one JSON document (structured mode), or headers beside the bare data
/// (binary mode). https://github.com/cloudevents/spec
///
/// An event that came as a CloudEvent keeps its `source`, `dataschema` and extensions in ``Event/attributes``, as text:
/// an extension that was a number or a boolean goes out as a string.
public enum CloudEventFormat {
    public static let specVersion = "1.0"
    /// Of ``structuredBody(_:source:)``.
    public static let structuredContentType = "application/cloudevents+json; charset=utf-8"

    /// The body in structured mode. The data stands in it byte for byte.
    /// - Parameter source: the service's own, a URI reference, for events that brought none.
    public static func structuredBody(_ event: Event, source: String) -> [UInt8] {
        var json = JSONWriter(capacity: event.body.count + 256)
        json.object { body in
            forEachAttribute(of: event, source: source) { body.member($0, $1) }
            body.member(CloudEventAttribute.dataContentType, contentType(of: event))
            body.member("data", .raw(event.data))
        }
        return json.bytes
    }

    /// The `Content-Type` in binary mode, where the body is ``Event/data``.
    public static func binaryContentType(_ event: Event) -> String { contentType(of: event) }

    /// The `ce-…` headers in binary mode. Values are visible ASCII, whatever the attributes hold.
    /// - Parameter source: the service's own, a URI reference, for events that brought none.
    public static func binaryHeaders(_ event: Event, source: String) -> [KeyValue] {
        var headers: [KeyValue] = []
        headers.reserveCapacity(event.attributes.count + 6)
        forEachAttribute(of: event, source: source) { name, value in
            headers.append(KeyValue("ce-" + name, CloudEventHeader.encode(value)))
        }
        return headers
    }

    /// All but the content type and the data, in the order of the specification.
    private static func forEachAttribute(of event: Event, source: String, _ body: (String, String) -> Void) {
        body(CloudEventAttribute.specVersion, specVersion)
        body(CloudEventAttribute.id, event.id)
        body(CloudEventAttribute.source, event.attribute(CloudEventAttribute.source) ?? source)
        body(CloudEventAttribute.type, event.type)
        if let subject = event.subject { body(CloudEventAttribute.subject, subject) }
        body(CloudEventAttribute.time, Timestamp(milliseconds: event.time).description)
        for attribute in event.attributes
        where CloudEventAttribute.isOptional(attribute.key) && !attribute.value.isEmpty {
            body(attribute.key, attribute.value)
        }
    }

    /// Becomes a header as it is, so only what may stand in one.
    private static func contentType(of event: Event) -> String {
        guard let type = event.attribute(CloudEventAttribute.dataContentType),
            type.utf8.allSatisfy({ 0x20...0x7e ~= $0 })
        else { return "application/json" }
        return type
    }
}
