import HeraldJSON
import HeraldModel

/// Parses the fields of a webhook's settings. `WebhookRules` defines the valid values.
extension DelegateInput {
    /// `null` resets a field to its default. Ignores keys that are not settings.
    mutating func read(_ key: String, _ value: JSONValue, into settings: inout WebhookSettings) {
        guard let field = WebhookField.named(key) else { return }
        let pointer = field.pointer
        let defaults = WebhookField.defaults
        switch field.kind {
        case .integer(let access, _):
            access.set(&settings, reader.integer(value, pointer) ?? access.get(defaults))
        case .optionalInteger(let access, _): access.set(&settings, reader.integer(value, pointer))
        case .optionalNumber(let access, _): access.set(&settings, reader.number(value, pointer))
        case .text(let access, _):
            let text = value.isNull ? access.get(defaults) : reader.text(value, pointer)
            if let text { access.set(&settings, text) }
        case .choice(let choice):
            let word = value.isNull ? choice.get(defaults) : value.string ?? ""
            if !choice.set(&settings, word) { reader.wrong(pointer, "must be " + FieldReader.oneOf(choice.words)) }
        case .special(let special): read(special, value, into: &settings, value.isNull ? defaults : nil)
        }
    }

    /// - Parameter defaults: the settings to take the value from; `nil` to read it.
    private mutating func read(
        _ field: WebhookField.Special, _ value: JSONValue, into settings: inout WebhookSettings,
        _ defaults: WebhookSettings?
    ) {
        switch field {
        case .url: if let url = reader.text(value, "/url") { settings.url = url }
        case .events: settings.events = defaults?.events ?? patterns(value) ?? settings.events
        case .subjects: settings.subjects = defaults?.subjects ?? subjects(value) ?? settings.subjects
        case .filter: settings.filter = defaults == nil ? filter(value) : nil
        case .metadata:
            reader.merge(value, "/metadata", into: &settings.metadata, max: WebhookRules.maxMetadata, name: { $0 })
        case .headers:
            reader.merge(value, "/headers", into: &settings.headers, max: WebhookRules.maxHeaders) { $0.lowercased() }
        case .retrySchedule: settings.retrySchedule = defaults?.retrySchedule ?? schedule(value)
        case .tls: TLSInput.merge(value, into: &settings.tls, &reader)
        case .request:
            var errors: [FieldError] = []
            RecipeInput.merge(value, into: &settings.request, &errors)
            reader.wrong(errors)
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
        let filter = ContentFilter(value, at: "/filter", &errors, refusesMistakes: true)
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
