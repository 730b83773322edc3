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

    /// - Throws: 422 with every wrong field.
    init(_ posted: JSONValue, _ context: EventInput.Context, _ checks: SchemaChecks) throws(Problem) {
        var reading = Reading(context: context, checks: checks)
        isArray = posted.kind == .array
        if isArray {
            guard (1...Self.maxEvents).contains(posted.count) else {
                throw .invalid([FieldError("", "must be one event, or an array of 1 to \(Self.maxEvents) events")])
            }
            reading.drafts.reserveCapacity(posted.count)
            for (index, element) in posted.elements.enumerated() { reading.read(element, at: "/\(index)") }
        } else {
            reading.read(posted, at: "")
        }
        guard reading.errors.isEmpty else { throw .invalid(reading.errors) }
        drafts = reading.drafts
        warnings = reading.warnings.isEmpty ? [] : drafts.indices.map { reading.warnings[$0] ?? [] }
    }

    private struct Reading {
        let context: EventInput.Context
        let checks: SchemaChecks
        var drafts: [EventDraft] = []
        var errors: [FieldError] = []
        /// By the index of the draft.
        var warnings: [Int: [FieldError]] = [:]

        mutating func read(_ value: JSONValue, at pointer: String) {
            guard let draft = EventInput.read(value, at: pointer, context, &errors) else { return }
            switch checks.check(draft.event, data: value["data"], at: pointer + "/data") {
            case .fits: break
            case .warns(let warnings): self.warnings[drafts.count] = warnings
            case .refuses(let reasons): errors += reasons
            }
            drafts.append(draft)
        }
    }
}
