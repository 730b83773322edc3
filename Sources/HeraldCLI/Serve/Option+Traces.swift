import HeraldModel
import HeraldTraces

/// The settings of OpenTelemetry, with the names and meanings of its specification.
extension Option {
    static let traces: [Option] =
        [
            Option(
                "otel-exporter-otlp-endpoint", "URL", "none: no traces",
                "Export traces to this collector, below /v1/traces, such as http://127.0.0.1:4318."
            ) { text, settings throws(Disallowed) in
                let url = try collector(text)
                settings.traces.endpoint = url + (url.hasSuffix("/") ? "" : "/") + "v1/traces"
            },
            Option("otel-exporter-otlp-traces-endpoint", "URL", "none", "Export traces to this URL, as it is.") {
                text, settings throws(Disallowed) in settings.traces.tracesEndpoint = try collector(text)
            },
        ]
        + forBoth("headers", "LIST", "none", "Headers of the exports: api-key=secret,tenant=a, percent-encoded.", true)
    {
        text, traces throws(Disallowed) in traces.headers = try pairs(text, areHeaders: true)
    }
        + forBoth("timeout", "MILLISECONDS", "10000", "Milliseconds for one export, 1 to 600000.") {
            text, traces throws(Disallowed) in traces.timeoutMilliseconds = try number(text, 1...600_000)
        }
        + forBoth(
            "certificate", "FILE", "the system's", "Certificate authorities (PEM) for an https collector."
        ) { text, traces throws(Disallowed) in traces.certificateAuthorities = try readable(text) }
        + forBoth("protocol", "NAME", "http/protobuf", "The protocol of the exports: only http/protobuf.") {
            text, _ throws(Disallowed) in
            guard text == "http/protobuf" else {
                throw Disallowed(allowed: "http/protobuf, which collectors receive on port 4318")
            }
        } + [
            Option("otel-traces-exporter", "otlp|none", "otlp", "none: no traces.") {
                text, settings throws(Disallowed) in
                guard ["otlp", "none"].contains(text) else { throw Disallowed(allowed: "otlp or none") }
                settings.traces.hasExporter = text == "otlp"
            },
            Option(
                "otel-traces-sampler", "NAME", "parentbased_always_on",
                "Which traces are recorded: \(Sampler.names.joined(separator: ", "))."
            ) { text, settings throws(Disallowed) in
                guard Sampler.names.contains(text) else {
                    throw Disallowed(allowed: "one of \(Sampler.names.joined(separator: ", "))")
                }
                settings.traces.sampler = text
            },
            Option(
                "otel-traces-sampler-arg", "NUMBER", "1",
                "The part of the traces that a sampler with a ratio records, 0 to 1."
            ) { text, settings throws(Disallowed) in
                guard let ratio = Double(text), (0...1).contains(ratio) else {
                    throw Disallowed(allowed: "a number from 0 to 1, such as 0.1")
                }
                settings.traces.ratio = ratio
            },
            Option("otel-service-name", "NAME", "herald", "The name of this service in traces.") {
                text, settings throws(Disallowed) in settings.traces.serviceName = text
            },
            Option(
                "otel-resource-attributes", "LIST", "none",
                "Attributes of this service in traces: deployment.environment.name=test,..., percent-encoded."
            ) { text, settings throws(Disallowed) in
                settings.traces.attributes = try pairs(text, areHeaders: false)
            },
            Option("otel-sdk-disabled", "true|false", "false", "true: no traces.") {
                text, settings throws(Disallowed) in settings.traces.isDisabled = try flag(text)
            },
        ]

    /// A setting of all exports, and the one of traces, which wins.
    private static func forBoth(
        _ name: String, _ placeholder: String, _ defaultText: String, _ help: String, _ isSecret: Bool = false,
        _ set: @escaping @Sendable (String, inout TraceSettings.Export) throws(Disallowed) -> Void
    ) -> [Option] {
        [
            Option("otel-exporter-otlp-\(name)", placeholder, defaultText, help, isSecret: isSecret) {
                text, settings throws(Disallowed) in try set(text, &settings.traces.all)
            },
            Option(
                "otel-exporter-otlp-traces-\(name)", placeholder, "that of OTEL_EXPORTER_OTLP_\(name.uppercased())",
                help, isSecret: isSecret
            ) { text, settings throws(Disallowed) in try set(text, &settings.traces.own) },
        ]
    }

    private static func collector(_ text: String) throws(Disallowed) -> String {
        guard ["http://", "https://"].contains(where: text.hasPrefix), !text.contains(" "), !text.hasSuffix("//") else {
            throw Disallowed(allowed: "an http or https URL, such as http://127.0.0.1:4318")
        }
        return text
    }

    /// A list `name=value,…`, percent-encoded.
    private static func pairs(_ text: String, areHeaders: Bool) throws(Disallowed) -> [KeyValue] {
        let form = Disallowed(allowed: "a list of name=value, separated by commas and percent-encoded")
        return try list(text).map { entry throws(Disallowed) in
            let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(trimmed)
            guard parts.count == 2, !parts[0].isEmpty, let name = decoded(parts[0]), let value = decoded(parts[1]),
                !areHeaders || isHeader(name, value)
            else { throw form }
            return KeyValue(name, value)
        }
    }

    private static func isHeader(_ name: String, _ value: String) -> Bool {
        name.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: ":") }
            && value.utf8.allSatisfy { (0x20...0x7e).contains($0) }
    }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = Substring(rest.prefix(2))
            guard digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit), let decoded = UInt8(digits, radix: 16) else {
                return nil
            }
            bytes.append(decoded)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
