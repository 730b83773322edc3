import HeraldJSON
import HeraldModel

/// Posted events: one, or an array that is posted as a whole.
struct PostInput: Sendable {
    let drafts: [EventDraft]
    let isArray: Bool
    /// The violations of schemas that only report, for each event; empty if there are none.
    private(set) var warnings: [[FieldError]] = []
    private let form: CloudEventInput.Form?
    /// Errors found so far, when validation has to follow.
    private let errors: [FieldError]
    /// Data that must be validated with a schema.
    private let unchecked: [UncheckedData]

    private struct UncheckedData {
        /// The index of the draft.
        let index: Int
        let description: EventTypeSummary
        let data: JSONValue?
        let pointer: String
    }

    /// - Parameter form: `nil` for Herald's own format.
    /// - Throws: 422 with all invalid fields.
    init(
        _ posted: JSONValue, as form: CloudEventInput.Form?, _ context: EventInput.Context, _ checks: SchemaChecks
    ) throws(Problem) {
        var reading = Reading()
        isArray = form.map { $0 == .batch } ?? (posted.kind == .array)
        if isArray {
            // A batch of CloudEvents may be empty.
            guard posted.kind == .array, ((form == nil ? 1 : 0)...PublicationLimits.maxEvents).contains(posted.count)
            else {
                throw .invalid([FieldError("", Self.words(form))])
            }
            reading.drafts.reserveCapacity(posted.count)
            for (index, element) in posted.elements.enumerated() where reading.errors.count < FieldError.maxReported {
                reading.read(element, at: "/\(index)", form, context, checks)
            }
        } else {
            reading.read(posted, at: "", form, context, checks)
        }
        self.form = form
        drafts = reading.drafts
        errors = reading.errors
        unchecked = reading.unchecked
        if unchecked.isEmpty { try refuseErrors(errors) }
    }

    private func refuseErrors(_ errors: [FieldError]) throws(Problem) {
        guard errors.isEmpty else {
            throw form == .binary ? CloudEventInput.inHeaders(errors) : .invalid(errors)
        }
    }

    // MARK: Schemas

    /// Whether `check` is required before posting.
    var needsCheck: Bool { !unchecked.isEmpty }

    /// The violations of schemas.
    struct Checked {
        fileprivate var reasons: [(index: Int, check: EventTypeRecord.Check, errors: [FieldError])] = []
    }

    /// Validates the data of events with the schemas of their types. Not for a loop's thread.
    /// - Parameter budget: for all events together. If it is exhausted, the result is meaningless.
    /// - Throws: why a schema could not be read.
    func check(_ checks: SchemaChecks, within budget: inout WorkBudget) throws(Problem) -> Checked {
        var checked = Checked()
        for entry in unchecked where !budget.isSpent {
            let reasons = try checks.violations(
                of: entry.data, at: entry.pointer, entry.description, within: &budget)
            if !reasons.isEmpty { checked.reasons.append((entry.index, entry.description.check, reasons)) }
        }
        return checked
    }

    /// Records the result of the validation.
    /// - Throws: 422 with all invalid fields.
    mutating func record(_ checked: Checked, _ checks: SchemaChecks) throws(Problem) {
        var refused = errors
        var warned: [Int: [FieldError]] = [:]
        for (index, check, reasons) in checked.reasons {
            checks.count(check)
            if check == .report { warned[index] = reasons } else { refused += reasons }
        }
        try refuseErrors(refused)
        if !warned.isEmpty { warnings = drafts.indices.map { warned[$0] ?? [] } }
    }

    private static func words(_ form: CloudEventInput.Form?) -> String {
        form == nil
            ? "must be one event, or an array of 1 to \(PublicationLimits.maxEvents) events"
            : "must be an array of at most \(PublicationLimits.maxEvents) CloudEvents"
    }

    private struct Reading {
        var drafts: [EventDraft] = []
        var errors: [FieldError] = []
        var unchecked: [UncheckedData] = []

        mutating func read(
            _ value: JSONValue, at pointer: String, _ form: CloudEventInput.Form?, _ context: EventInput.Context,
            _ checks: SchemaChecks
        ) {
            let draft =
                form == nil
                ? EventInput.read(value, at: pointer, context, &errors)
                : CloudEventInput.read(value, at: pointer, context, &errors)
            guard let draft else { return }
            if let description = checks.description(for: draft.event) {
                unchecked.append(
                    UncheckedData(
                        index: drafts.count, description: description, data: value["data"], pointer: pointer + "/data"))
            }
            drafts.append(draft)
        }
    }
}
