import Herald
import JSON

/// Events as they were posted: one, or an array that is posted as a whole.
struct PostInput: Sendable {
    static let maxEvents = 1_000

    let drafts: [EventDraft]
    let isArray: Bool
    /// What the catalogue's schemas say against each event without refusing it; empty when they say nothing at all.
    let warnings: [[FieldError]]

    /// How many events a body has; 1 when it is no array.
    static func count(_ posted: JSONValue) -> Int { posted.kind == .array ? posted.count : 1 }

    /// - Parameter form: `nil`: Herald's own.
    /// - Throws: 422 with every wrong field.
    init(
        _ posted: JSONValue, as form: CloudEventInput.Form?, _ context: EventInput.Context, _ checks: SchemaChecks
    ) throws(Problem) {
        var reading = Reading()
        isArray = form.map { $0 == .batch } ?? (posted.kind == .array)
        if isArray {
            // A batch of CloudEvents may be empty.
            guard posted.kind == .array, ((form == nil ? 1 : 0)...Self.maxEvents).contains(posted.count) else {
                throw .invalid([FieldError("", Self.words(form))])
            }
            reading.drafts.reserveCapacity(posted.count)
            for (index, element) in posted.elements.enumerated() {
                reading.read(element, at: "/\(index)", form, context, checks)
            }
        } else {
            reading.read(posted, at: "", form, context, checks)
        }
        guard reading.errors.isEmpty else {
            throw form == .binary ? CloudEventInput.inHeaders(reading.errors) : .invalid(reading.errors)
        }
        drafts = reading.drafts
        warnings = reading.warnings.isEmpty ? [] : drafts.indices.map { reading.warnings[$0] ?? [] }
    }

    private static func words(_ form: CloudEventInput.Form?) -> String {
        form == nil
            ? "must be one event, or an array of 1 to \(maxEvents) events"
            : "must be an array of at most \(maxEvents) CloudEvents"
    }

    private struct Reading {
        var drafts: [EventDraft] = []
        var errors: [FieldError] = []
        /// By the index of the draft.
        var warnings: [Int: [FieldError]] = [:]

        mutating func read(
            _ value: JSONValue, at pointer: String, _ form: CloudEventInput.Form?, _ context: EventInput.Context,
            _ checks: SchemaChecks
        ) {
            let draft =
                form == nil
                ? EventInput.read(value, at: pointer, context, &errors)
                : CloudEventInput.read(value, at: pointer, context, &errors)
            guard let draft else { return }
            switch checks.check(draft.event, data: value["data"], at: pointer + "/data") {
            case .fits: break
            case .warns(let warnings): self.warnings[drafts.count] = warnings
            case .refuses(let reasons): errors += reasons
            }
            drafts.append(draft)
        }
    }
}
