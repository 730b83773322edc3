import HeraldJSON

/// The rules for settings of a webhook, for everything that registers and changes webhooks, over HTTP or in the
/// process. Any thread.
package struct WebhookRules: Sendable {
    /// Validates settings for the sender of the callbacks. It may normalize the URL.
    package typealias SenderCheck = @Sendable (inout WebhookSettings) -> [FieldError]

    private let senderCheck: SenderCheck

    package init(_ senderCheck: @escaping SenderCheck) { self.senderCheck = senderCheck }

    /// All errors, with the field names of the HTTP API.
    package func problems(of settings: inout WebhookSettings) -> [FieldError] {
        // Objects of JSON, which have no order: a program may write them in another one at each start.
        settings.metadata.sort { $0.key < $1.key }
        settings.headers.sort { $0.key < $1.key }
        return Self.limitProblems(of: settings) + Self.kindProblems(of: settings)
            + (settings.kind == .webhook ? senderCheck(&settings) : [])
    }

    package static let kindHasChanged = FieldError("/kind", "can't be changed: register another delegate")

    /// The settings that a delegate of the kind does not have.
    private static func kindProblems(of settings: WebhookSettings) -> [FieldError] {
        let kind = settings.kind
        var errors = WebhookField.all.filter { !kind.hasField($0.name) && !$0.isDefault(in: settings) }.map { field in
            FieldError(field.pointer, "is no setting of a delegate of kind \(kind.rawValue)")
        }
        if kind == .pull, settings.ordering == .subject {
            errors.append(FieldError("/ordering", "must be none or strict for a delegate of kind pull"))
        }
        return errors
    }

    // MARK: Limits

    fileprivate static let retryDelay: ClosedRange<Double> = 0...604_800
    package static let maxRetries = 20
    package static let maxMetadata = 32
    private static let maxMetadataKey = 64
    private static let maxMetadataValue = 256
    package static let maxHeaders = 16

    /// The errors that do not depend on the sender.
    package static func limitProblems(of settings: WebhookSettings) -> [FieldError] {
        var errors: [FieldError] = []
        // Texts are made for errors only: at the start, each stored delegate is checked.
        func check(_ isRight: Bool, _ pointer: @autoclosure () -> String, _ detail: @autoclosure () -> String) {
            if !isRight { errors.append(FieldError(pointer(), detail())) }
        }
        func check<Number: Comparable>(
            _ number: Number?, _ range: ClosedRange<Number>, _ pointer: @autoclosure () -> String, _ unit: String
        ) {
            check(
                number.map(range.contains) ?? true, pointer(),
                "must be \(unit) from \(range.lowerBound) to \(range.upperBound)")
        }
        errors += EventSelection.problems(ofEvents: settings.events, subjects: settings.subjects)
        for field in WebhookField.all {
            switch field.kind {
            case .integer(let access, let range): check(access.get(settings), range, field.pointer, "an integer")
            case .optionalInteger(let access, let range):
                check(access.get(settings), range, field.pointer, "an integer")
            case .optionalNumber(let access, let range): check(access.get(settings), range, field.pointer, "a number")
            case .text(let access, let max):
                check(
                    access.get(settings).unicodeScalars.count <= max, field.pointer,
                    "must have at most \(max) characters")
            case .choice, .special: break
            }
        }
        check(settings.request?.text.isEmpty != true, "/request", "must have at least one member")
        check(
            settings.retrySchedule.count <= maxRetries, "/retry_schedule",
            "must be at most \(maxRetries) delays in seconds")
        for (index, delay) in settings.retrySchedule.enumerated() {
            check(delay, retryDelay, "/retry_schedule/\(index)", "a number of seconds")
        }
        errors += problems(
            of: settings.metadata, "/metadata", max: maxMetadata, name: { $0 }, problem: metadataProblem)
        errors += problems(
            of: settings.headers, "/headers", max: maxHeaders, name: { $0.lowercased() },
            problem: CallbackHeaderRules.problem(name:value:))
        check(
            settings.headers.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } <= CallbackHeaderRules.maxBytes,
            "/headers", "must have names and values of at most \(CallbackHeaderRules.maxBytes) bytes together")
        errors += clashes(settings)
        if settings.verification == .challenge, let recipe = settings.request, !recipe.hasPlainBody {
            errors.append(
                FieldError("/verification", "can't be challenge with request.body: the challenge is in the plain body"))
        }
        return errors
    }

    /// The headers that the recipe sets as well: receivers refuse a request with two, or read one of them.
    private static func clashes(_ settings: WebhookSettings) -> [FieldError] {
        guard !settings.headers.isEmpty, let recipe = settings.request, let plan = RecipePlan(recipe) else { return [] }
        let names = plan.headerNames
        return settings.headers.filter { names.contains($0.key.lowercased()) }
            .map { FieldError(JSONPointer.child("/headers", $0.key), "is a header that request sets too") }
    }

    private static func metadataProblem(_ key: String, _ value: String) -> String? {
        (1...maxMetadataKey).contains(key.unicodeScalars.count) && value.unicodeScalars.count <= maxMetadataValue
            ? nil : "must have a key of 1 to \(maxMetadataKey) characters and a value of at most \(maxMetadataValue)"
    }

    /// - Parameter name: the normalized form of a key; equal names mean the same key.
    private static func problems(
        of pairs: [KeyValue], _ pointer: String, max: Int, name: (String) -> String,
        problem: (String, String) -> String?
    ) -> [FieldError] {
        var errors: [FieldError] = []
        var names: Set<String> = []
        for pair in pairs {
            let place = JSONPointer.child(pointer, pair.key)
            if !names.insert(name(pair.key)).inserted { errors.append(FieldError(place, "is given twice")) }
            if let detail = problem(pair.key, pair.value) { errors.append(FieldError(place, detail)) }
        }
        if pairs.count > max { errors.append(FieldError(pointer, "must have at most \(max) members")) }
        return errors
    }
}

extension WebhookDelegate {
    /// The delegate with valid settings: a database that another program has changed may have others.
    package var repaired: WebhookDelegate {
        let old = state.settings
        guard !WebhookRules.limitProblems(of: old).isEmpty else { return self }
        var state = state
        for field in WebhookField.all {
            switch field.kind {
            case .integer(let access, let range): access.set(&state.settings, access.get(old).clamped(to: range))
            case .optionalInteger(let access, let range):
                access.set(&state.settings, access.get(old).map { $0.clamped(to: range) })
            case .optionalNumber(let access, let range):
                access.set(&state.settings, access.get(old).map { $0.clamped(to: range) })
            case .text, .choice, .special: break
            }
        }
        state.settings.retrySchedule = old.retrySchedule.map { $0.clamped(to: WebhookRules.retryDelay) }
        return observed(state)
    }
}

extension Comparable {
    /// The nearest value in the range; its lower bound for values that can't be compared, such as NaN.
    fileprivate func clamped(to range: ClosedRange<Self>) -> Self {
        self >= range.lowerBound ? min(self, range.upperBound) : range.lowerBound
    }
}
