import Herald
import JSON

/// The fields of a webhook's settings, with their limits.
extension DelegateInput {
    /// `null` sets a field back to its default. Passes over what is no setting.
    mutating func read(_ key: String, _ value: JSONValue, into settings: inout WebhookSettings) {
        let defaults = WebhookSettings(url: settings.url)
        let isDefault = value.isNull
        switch key {
        case "url": if let url = url(value) { settings.url = url }
        case "events": settings.events = isDefault ? defaults.events : patterns(value)
        case "subjects": settings.subjects = isDefault ? defaults.subjects : subjects(value)
        case "filter": settings.filter = isDefault ? nil : filter(value)
        case "description":
            settings.description = isDefault ? "" : reader.text(value, "/description", maxCharacters: 256)
        case "metadata":
            reader.merge(
                value, "/metadata", into: &settings.metadata, maxPairs: 32, name: { $0 }, check: checkMetadata)
        case "format":
            settings.format = isDefault ? defaults.format : reader.choice(value, "/format", default: defaults.format)
        case "headers":
            reader.merge(
                value, "/headers", into: &settings.headers, maxPairs: 16, name: { $0.lowercased() },
                check: { HeaderRules.problem(name: $0, value: $1) })
        case "ordering":
            settings.ordering =
                isDefault ? defaults.ordering : reader.choice(value, "/ordering", default: defaults.ordering)
        case "max_in_flight":
            settings.maxInFlight =
                isDefault ? defaults.maxInFlight : reader.integer(value, "/max_in_flight", 1...256)
        case "rate_limit":
            settings.rateLimit =
                isDefault
                ? nil
                : reader.number(value, "/rate_limit", 0.01...10_000, words: "of requests a second, from 0.01 to 10000")
        case "timeout_seconds":
            settings.timeoutSeconds =
                isDefault ? defaults.timeoutSeconds : reader.integer(value, "/timeout_seconds", 1...60)
        case "retry_schedule": settings.retrySchedule = isDefault ? defaults.retrySchedule : schedule(value)
        case "lease_seconds":
            settings.leaseSeconds = isDefault ? nil : reader.integer(value, "/lease_seconds", 10...31_536_000)
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

    private mutating func url(_ value: JSONValue) -> String? {
        guard let text = value.string else {
            reader.wrong("/url", "must be a string")
            return nil
        }
        switch checkURL(text) {
        case .success(let url): return url
        case .failure(let error):
            reader.wrong([error])
            return nil
        }
    }

    private mutating func patterns(_ value: JSONValue) -> [EventPattern] {
        guard value.kind == .array, (1...64).contains(value.count) else {
            reader.wrong("/events", "must be an array of 1 to 64 patterns, such as [\"auth.*\"]")
            return []
        }
        var patterns: [EventPattern] = []
        for (index, element) in value.elements.enumerated() {
            guard let pattern = element.string.flatMap(EventPattern.init) else {
                reader.wrong("/events/\(index)", "must be a type such as auth.logged_in, a prefix such as auth.*, or *")
                continue
            }
            if !patterns.contains(pattern) { patterns.append(pattern) }
        }
        return patterns
    }

    private mutating func subjects(_ value: JSONValue) -> [String] {
        guard value.kind == .array, value.count <= 1_000 else {
            reader.wrong("/subjects", "must be an array of at most 1000 strings")
            return []
        }
        var subjects: [String] = []
        for (index, element) in value.elements.enumerated() {
            let subject = reader.text(element, "/subjects/\(index)", maxCharacters: EventInput.maxSubjectCharacters)
            if subject.isEmpty {
                if element.string == "" { reader.wrong("/subjects/\(index)", "must not be empty") }
                continue
            }
            subjects.append(subject)
        }
        return subjects
    }

    private mutating func filter(_ value: JSONValue) -> ContentFilter? {
        var errors: [FieldError] = []
        let filter = ContentFilter(value, at: "/filter", &errors)
        reader.wrong(errors)
        return filter
    }

    private mutating func schedule(_ value: JSONValue) -> [Double] {
        guard value.kind == .array, value.count <= 20 else {
            reader.wrong("/retry_schedule", "must be an array of at most 20 delays in seconds")
            return []
        }
        return value.elements.enumerated().map { index, element in
            reader.number(element, "/retry_schedule/\(index)", 0...604_800, words: "of seconds from 0 to 604800")
        }
    }

    private func checkMetadata(_ key: String, _ value: String) -> String? {
        key.isEmpty || key.unicodeScalars.count > 64 || value.unicodeScalars.count > 256
            ? "must have a key of 1 to 64 characters and a value of at most 256" : nil
    }
}
