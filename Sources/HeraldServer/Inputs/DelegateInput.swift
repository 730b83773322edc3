import Crypto
import Herald
import JSON

/// Reads what a client says of a webhook: a registration, or a merge patch (RFC 7396) of one. Reports all that is wrong.
struct DelegateInput {
    /// Turns a URL into the form in which it is stored and compared, or says what is wrong with it.
    typealias URLCheck = @Sendable (String) -> Result<String, FieldError>

    static let patchFields = [
        "url", "events", "subjects", "description", "metadata", "headers", "max_in_flight", "timeout_seconds",
        "retry_schedule",
    ]
    static let fields = patchFields + ["secret"]

    private(set) var errors: [FieldError] = []
    private let checkURL: URLCheck

    private init(_ checkURL: @escaping URLCheck) { self.checkURL = checkURL }

    // MARK: Whole requests

    /// - Returns: the settings and the secret that the client brought.
    /// - Throws: 422 with every wrong field.
    static func registration(
        _ document: JSONDocument, _ checkURL: @escaping URLCheck
    ) throws(Problem) -> (WebhookSettings, SigningSecret?) {
        var input = DelegateInput(checkURL)
        input.errors = document.errors(unlessObjectOf: fields)
        var settings = WebhookSettings(url: "")
        if document["url"] == nil {
            input.errors.append(FieldError("/url", "is required: where to send the callbacks"))
        }
        for (key, value) in document.root.members where key != "secret" { input.read(key, value, into: &settings) }
        let secret = input.secret(document["secret"])
        guard input.errors.isEmpty else { throw .invalid(input.errors) }
        return (settings, secret)
    }

    /// - Returns: the change, to be made to whatever the settings are when it is made.
    /// - Throws: 422 with every wrong field.
    static func patch(
        _ document: JSONDocument, _ checkURL: @escaping URLCheck
    ) throws(Problem) -> @Sendable (inout WebhookSettings) throws(RegistryWrite.InvalidSettings) -> Void {
        var input = DelegateInput(checkURL)
        input.errors = document.errors(unlessObjectOf: patchFields)
        var probe = WebhookSettings(url: "")
        for (key, value) in document.root.members { input.read(key, value, into: &probe) }
        guard input.errors.isEmpty else { throw .invalid(input.errors) }
        return { settings throws(RegistryWrite.InvalidSettings) in
            var input = DelegateInput(checkURL)
            for (key, value) in document.root.members { input.read(key, value, into: &settings) }
            // Together with what is there it may be too much.
            if !input.errors.isEmpty { throw RegistryWrite.InvalidSettings(input.errors) }
        }
    }

    // MARK: Fields

    /// `null` sets a field back to its default.
    private mutating func read(_ key: String, _ value: JSONValue, into settings: inout WebhookSettings) {
        let defaults = WebhookSettings(url: settings.url)
        switch key {
        case "url": if let url = url(value) { settings.url = url }
        case "events": settings.events = value.isNull ? defaults.events : patterns(value)
        case "subjects": settings.subjects = value.isNull ? defaults.subjects : subjects(value)
        case "description":
            settings.description = value.isNull ? "" : text(value, "/description", maxCharacters: 256)
        case "metadata":
            merge(value, "/metadata", into: &settings.metadata, maxPairs: 32, name: { $0 }, check: checkMetadata)
        case "headers":
            merge(
                value, "/headers", into: &settings.headers, maxPairs: 16, name: { $0.lowercased() }, check: checkHeader)
        case "max_in_flight":
            settings.maxInFlight = value.isNull ? defaults.maxInFlight : integer(value, "/max_in_flight", 1...256)
        case "timeout_seconds":
            settings.timeoutSeconds =
                value.isNull ? defaults.timeoutSeconds : integer(value, "/timeout_seconds", 1...60)
        case "retry_schedule":
            settings.retrySchedule = value.isNull ? defaults.retrySchedule : schedule(value)
        default: break
        }
    }

    private mutating func url(_ value: JSONValue) -> String? {
        guard let text = value.string else {
            errors.append(FieldError("/url", "must be a string"))
            return nil
        }
        switch checkURL(text) {
        case .success(let url): return url
        case .failure(let error):
            errors.append(error)
            return nil
        }
    }

    private mutating func patterns(_ value: JSONValue) -> [EventPattern] {
        guard value.kind == .array, (1...64).contains(value.count) else {
            errors.append(FieldError("/events", "must be an array of 1 to 64 patterns, such as [\"auth.*\"]"))
            return []
        }
        var patterns: [EventPattern] = []
        for (index, element) in value.elements.enumerated() {
            guard let pattern = element.string.flatMap(EventPattern.init) else {
                errors.append(
                    FieldError(
                        "/events/\(index)", "must be a type such as auth.logged_in, a prefix such as auth.*, or *"))
                continue
            }
            if !patterns.contains(pattern) { patterns.append(pattern) }
        }
        return patterns
    }

    private mutating func subjects(_ value: JSONValue) -> [String] {
        guard value.kind == .array, value.count <= 1_000 else {
            errors.append(FieldError("/subjects", "must be an array of at most 1000 strings"))
            return []
        }
        var subjects: [String] = []
        for (index, element) in value.elements.enumerated() {
            let subject = text(element, "/subjects/\(index)", maxCharacters: EventInput.maxSubjectCharacters)
            if subject.isEmpty {
                if element.string == "" { errors.append(FieldError("/subjects/\(index)", "must not be empty")) }
                continue
            }
            subjects.append(subject)
        }
        return subjects
    }

    private mutating func schedule(_ value: JSONValue) -> [Double] {
        guard value.kind == .array, value.count <= 20 else {
            errors.append(FieldError("/retry_schedule", "must be an array of at most 20 delays in seconds"))
            return []
        }
        var schedule: [Double] = []
        for (index, element) in value.elements.enumerated() {
            guard let delay = element.double, (0...604_800).contains(delay) else {
                errors.append(FieldError("/retry_schedule/\(index)", "must be a number of seconds from 0 to 604800"))
                continue
            }
            schedule.append(delay)
        }
        return schedule
    }

    private mutating func secret(_ value: JSONValue?) -> SigningSecret? {
        guard let value, !value.isNull else { return nil }
        guard let text = value.string else {
            errors.append(FieldError("/secret", "must be a string: whsec_ and base64 of 24 to 64 bytes"))
            return nil
        }
        do throws(SecretTextError) {
            return SigningSecret(bytes: try SecretText.parse(text))
        } catch {
            errors.append(FieldError("/secret", error.description))
            return nil
        }
    }

    private mutating func text(_ value: JSONValue, _ pointer: String, maxCharacters: Int) -> String {
        guard let text = value.string, text.unicodeScalars.count <= maxCharacters else {
            errors.append(FieldError(pointer, "must be a string of at most \(maxCharacters) characters"))
            return ""
        }
        return text
    }

    private mutating func integer(_ value: JSONValue, _ pointer: String, _ range: ClosedRange<Int64>) -> Int {
        guard let number = value.integer, range.contains(number) else {
            errors.append(FieldError(pointer, "must be an integer from \(range.lowerBound) to \(range.upperBound)"))
            return Int(range.lowerBound)
        }
        return Int(number)
    }

    /// Pairs of a JSON object, merged into those that are there: `null` removes one, or all of them.
    /// - Parameter name: what is the same for two keys that mean the same.
    private mutating func merge(
        _ value: JSONValue, _ pointer: String, into pairs: inout [KeyValue], maxPairs: Int, name: (String) -> String,
        check: (String, String) -> String?
    ) {
        if value.isNull {
            pairs = []
            return
        }
        guard value.kind == .object else {
            return errors.append(FieldError(pointer, "must be an object of strings"))
        }
        var given: Set<String> = []
        for (key, member) in value.members {
            let place = JSONPointer.child(pointer, key)
            guard given.insert(name(key)).inserted else {
                errors.append(FieldError(place, "is given twice: upper and lower case make no difference here"))
                continue
            }
            pairs.removeAll { name($0.key) == name(key) }
            if member.isNull { continue }
            guard let text = member.string else {
                errors.append(FieldError(place, "must be a string"))
                continue
            }
            if let problem = check(key, text) {
                errors.append(FieldError(place, problem))
            } else {
                pairs.append(KeyValue(key, text))
            }
        }
        if pairs.count > maxPairs { errors.append(FieldError(pointer, "must have at most \(maxPairs) members")) }
    }

    private func checkMetadata(_ key: String, _ value: String) -> String? {
        key.isEmpty || key.unicodeScalars.count > 64 || value.unicodeScalars.count > 256
            ? "must have a key of 1 to 64 characters and a value of at most 256" : nil
    }

    private func checkHeader(_ name: String, _ value: String) -> String? {
        HeaderRules.problem(name: name, value: value)
    }
}
