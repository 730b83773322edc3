import HeraldCore
import HeraldJSON

/// Parses the fields of a webhook's settings. `WebhookRules` defines the valid values.
extension DelegateInput {
    /// `null` resets a field to its default. Ignores keys that are not settings.
    mutating func read(_ key: String, _ value: JSONValue, into settings: inout WebhookSettings) {
        let defaults = WebhookSettings(url: settings.url)
        let isDefault = value.isNull
        switch key {
        case "url": if let url = reader.text(value, "/url") { settings.url = url }
        case "events": settings.events = isDefault ? defaults.events : patterns(value) ?? settings.events
        case "subjects": settings.subjects = isDefault ? defaults.subjects : subjects(value) ?? settings.subjects
        case "filter": settings.filter = isDefault ? nil : filter(value)
        case "description":
            settings.description = isDefault ? "" : reader.text(value, "/description") ?? settings.description
        case "metadata":
            reader.merge(value, "/metadata", into: &settings.metadata, max: WebhookRules.maxMetadata, name: { $0 })
        case "format":
            settings.format = isDefault ? defaults.format : reader.choice(value, "/format", default: defaults.format)
        case "headers":
            reader.merge(value, "/headers", into: &settings.headers, max: WebhookRules.maxHeaders) { $0.lowercased() }
        case "ordering":
            settings.ordering =
                isDefault ? defaults.ordering : reader.choice(value, "/ordering", default: defaults.ordering)
        case "max_in_flight":
            settings.maxInFlight = reader.integer(value, "/max_in_flight") ?? defaults.maxInFlight
        case "rate_limit": settings.rateLimit = reader.number(value, "/rate_limit")
        case "timeout_seconds":
            settings.timeoutSeconds = reader.integer(value, "/timeout_seconds") ?? defaults.timeoutSeconds
        case "retry_schedule": settings.retrySchedule = isDefault ? defaults.retrySchedule : schedule(value)
        case "lease_seconds": settings.leaseSeconds = reader.integer(value, "/lease_seconds")
        case "disable_after_seconds":
            settings.disableAfterSeconds =
                reader.integer(value, "/disable_after_seconds") ?? defaults.disableAfterSeconds
        case "verification":
            settings.verification =
                isDefault
                ? defaults.verification : reader.choice(value, "/verification", default: defaults.verification)
        case "http_version":
            settings.httpVersion =
                isDefault ? defaults.httpVersion : reader.choice(value, "/http_version", default: defaults.httpVersion)
        case "tls": TLSInput.merge(value, into: &settings.tls, &reader)
        default: break
        }
    }

    /// `nil` if the value is invalid.
    private mutating func patterns(_ value: JSONValue) -> [EventPattern]? {
        guard value.kind == .array else {
            reader.wrong("/events", "must be an array of patterns, such as [\"auth.*\"]")
            return nil
        }
        var patterns: [EventPattern] = []
        var isRight = true
        for (index, element) in value.elements.enumerated() {
            guard let pattern = element.string.flatMap(EventPattern.init) else {
                reader.wrong("/events/\(index)", "must be \(EventPattern.words)")
                isRight = false
                continue
            }
            if !patterns.contains(pattern) { patterns.append(pattern) }
            // For a list that is much too long, one error is enough.
            if patterns.count > EventSelection.maxPatterns { break }
        }
        return isRight ? patterns : nil
    }

    private mutating func subjects(_ value: JSONValue) -> [String]? {
        guard value.kind == .array, value.count <= EventSelection.maxSubjects else {
            reader.wrong("/subjects", "must be an array of at most \(EventSelection.maxSubjects) strings")
            return nil
        }
        return value.elements.enumerated().compactMap { reader.text($1, "/subjects/\($0)") }
    }

    private mutating func filter(_ value: JSONValue) -> ContentFilter? {
        var errors: [FieldError] = []
        let filter = ContentFilter(value, at: "/filter", &errors)
        reader.wrong(errors)
        return filter
    }

    private mutating func schedule(_ value: JSONValue) -> [Double] {
        guard value.kind == .array, value.count <= WebhookRules.maxRetries else {
            reader.wrong(
                "/retry_schedule", "must be an array of at most \(WebhookRules.maxRetries) delays in seconds")
            return []
        }
        return value.elements.enumerated().map { index, element in
            if element.isNull { reader.wrong("/retry_schedule/\(index)", "must be a number") }
            return reader.number(element, "/retry_schedule/\(index)") ?? 0
        }
    }
}
