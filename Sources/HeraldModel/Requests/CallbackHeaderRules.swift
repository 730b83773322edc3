import HeraldCrypto

/// The request headers that a delegate may have: validated at the registration and before sending.
package enum CallbackHeaderRules {
    /// Headers that the service sets, or that would change how the request is parsed.
    static let reserved = HeaderName.framing.union([
        "user-agent", "traceparent", "tracestate", "date", "accept-encoding",
    ])
    static let reservedPrefixes = ["proxy-", "webhook-", "herald-", "ce-"]
    static let maxValueBytes = 4_096
    /// The bytes of all names and values of a delegate: open callbacks have memory for as many.
    static let maxBytes = 9_216

    /// Why a header is invalid.
    package static func problem(name: String, value: String) -> String? {
        if let problem = HeaderName.problem(name) { return problem }
        let lower = name.lowercased()
        if reserved.contains(lower) || reservedPrefixes.contains(where: lower.hasPrefix) {
            return "is a header that can't be set; the service or HTTP itself uses it"
        }
        guard value.utf8.count <= maxValueBytes,
            value.utf8.allSatisfy({ (0x20...0x7e).contains($0) || $0 == UInt8(ascii: "\t") })
        else { return "must have a value of at most \(maxValueBytes) visible ASCII characters, spaces and tabs" }
        return nil
    }

    /// Why a recipe can't set a header; its value is a template.
    static func recipeProblem(name: String) -> String? {
        let lower = name.lowercased()
        if lower == "content-type" { return nil }
        if lower == "authorization" || lower == "cookie" {
            return "is shown with the recipe: a secret belongs into `headers`, or into `auth`"
        }
        return problem(name: name, value: "")
    }
}
