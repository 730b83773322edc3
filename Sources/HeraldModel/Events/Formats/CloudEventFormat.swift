import HeraldJSON

/// Events as CloudEvents 1.0 over HTTP: one JSON document (structured mode), or headers and the plain data (binary
/// mode). https://github.com/cloudevents/spec
///
/// An event that was posted as a CloudEvent keeps its `id`, `source`, `dataschema` and extensions (``EventAttribute``).
/// In binary mode all of them are strings.
package enum CloudEventFormat {
    package static let specVersion = "1.0"
    /// The content type of ``structuredBody(_:source:)``.
    package static let structuredContentType = "application/cloudevents+json; charset=utf-8"

    /// The body in structured mode. It contains the data byte for byte.
    /// - Parameter source: the service's own, a URI reference, for events without one.
    package static func structuredBody(_ event: Event, source: String) -> [UInt8] {
        var json = JSONWriter(capacity: event.body.count + 256)
        json.object { body in
            forEachAttribute(of: event, source: source) { $0.write(to: &body) }
            body.member(CloudEventAttribute.dataContentType, binaryContentType(event))
            body.member("data", .raw(event.data))
        }
        return json.bytes
    }

    /// The `ce-…` headers in binary mode. Values are encoded as visible ASCII.
    /// - Parameter source: the service's own, a URI reference, for events without one.
    package static func binaryHeaders(_ event: Event, source: String) -> [KeyValue] {
        var headers: [KeyValue] = []
        headers.reserveCapacity(event.attributes.count + 6)
        forEachAttribute(of: event, source: source) { attribute in
            headers.append(KeyValue("ce-" + attribute.name, CloudEventHeader.encode(attribute.value)))
        }
        return headers
    }

    /// All attributes except the content type, in the order of the specification.
    private static func forEachAttribute(of event: Event, source: String, _ body: (EventAttribute) -> Void) {
        func text(_ name: String, _ value: String) { body(EventAttribute(name, value)) }
        text(CloudEventAttribute.specVersion, specVersion)
        text(CloudEventAttribute.id, event.publisherID)
        text(CloudEventAttribute.source, event.attribute(CloudEventAttribute.source) ?? source)
        text(CloudEventAttribute.type, event.type)
        if let subject = event.subject { text(CloudEventAttribute.subject, subject) }
        text(
            CloudEventAttribute.time,
            event.attribute(CloudEventAttribute.time) ?? Timestamp(milliseconds: event.time).description)
        for attribute in event.attributes.lazy.map(EventAttribute.init)
        where CloudEventAttribute.isOptional(attribute.name) && !attribute.value.isEmpty {
            body(attribute)
        }
    }

    /// The `Content-Type` in binary mode, where the body is ``Event/data``. It becomes a header unchanged, so it must be a valid
    /// header value.
    package static func binaryContentType(_ event: Event) -> String {
        guard let type = event.attribute(CloudEventAttribute.dataContentType),
            type.utf8.allSatisfy({ 0x20...0x7e ~= $0 })
        else { return "application/json" }
        return type
    }
}
