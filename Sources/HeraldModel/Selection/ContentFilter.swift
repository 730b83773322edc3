package import HeraldJSON

/// A delegate's condition on the content of events, in the grammar of the patterns of Amazon EventBridge:
///
///     {"type": ["order.paid"], "data": {"user": {"plan": ["pro", {"prefix": "team-"}]}, "amount": [{"numeric": [">",
///     0]}]}}
///
/// Objects name members of the event, and all of them must match. Arrays contain accepted values, and one entry must
/// match: an equal scalar (numbers by value: `1` is `1.0`), or a condition: `prefix`, `suffix`, `wildcard`,
/// `equals-ignore-case`, `exactly`, `cidr`, `numeric`, `exists`, `anything-but`. `$or` in an object has an array of
/// objects, one of which must match as well.
///
/// - If the event has an array, one of its elements must match, at any depth of arrays. Members of one object in the
///   filter must match the same element.
/// - `exists` tests whether the member has a scalar, including `null`: an object or an empty array has none. All other
///   conditions need a scalar, including `anything-but`.
///
/// Compiled once, immutable, shared by all threads. Filters are equal if their texts are.
public final class ContentFilter: Sendable {
    /// The maximum nesting of objects, including the outermost one.
    package static let maxDepth = 8
    /// The maximum number of values and conditions.
    package static let maxLeaves = 256
    /// The limit of ``text``.
    package static let maxBytes = 8_192
    /// The maximum number of steps for one event: at most 5 ms; some dozen steps are usual.
    package static let maxSteps = 200_000

    /// The filter as compact JSON, with members in the order of their keys: the stored and displayed form. A program may write an
    /// object in another order at each start, and it is the same filter.
    public let text: [UInt8]
    /// The members of the outermost object; those that need `data`, which has to be parsed, come last.
    private let fields: [FilterField]

    /// Compiles a posted filter.
    /// - Parameters:
    ///   - pointer: the pointer of `value` in the request's body, for errors.
    ///   - refusesMistakes: whether to refuse what is valid, but hardly meant, which the store may have.
    /// - Throws: all errors.
    package init(_ value: JSONValue, at pointer: String, refusesMistakes: Bool = false) throws(FieldErrors) {
        let text = JSONWriter.document(of: CompactJSON(value, sortsMembers: true))
        guard text.count <= ContentFilter.maxBytes else {
            let limit = "must have at most \(ContentFilter.maxBytes) bytes without white space, not \(text.count)"
            throw FieldErrors([FieldError(pointer, limit)])
        }
        var compiler = FilterCompiler(refusesMistakes: refusesMistakes)
        let fields = compiler.compile(value)
        guard compiler.errors.isEmpty else {
            throw FieldErrors(compiler.errors.map { FieldError(pointer + $0.pointer, $0.detail) })
        }
        self.text = text
        self.fields = fields.filter { !$0.needsData } + fields.filter(\.needsData)
    }

    /// - Parameter errors: all errors are appended; then the result is `nil`.
    package convenience init?(
        _ value: JSONValue, at pointer: String, _ errors: inout [FieldError], refusesMistakes: Bool = false
    ) {
        do throws(FieldErrors) {
            try self.init(value, at: pointer, refusesMistakes: refusesMistakes)
        } catch {
            errors += error.errors
            return nil
        }
    }

    /// A filter from the store.
    /// - Parameter text: a value of ``text``; `nil` if it is not a filter.
    package convenience init?(text: [UInt8]) {
        guard let document = try? JSONDocument(parsing: text) else { return nil }
        var errors: [FieldError] = []
        self.init(document.root, at: "", &errors)
    }

    /// Whether the event matches. An event that can't be decided in ``maxSteps``, or in the budget of the view, matches: an
    /// unwanted event is better than a missed one.
    package func matches(_ event: EventView) -> Bool {
        if event.budget.isSpent { return true }
        let steps = min(Self.maxSteps, event.budget.left)
        var budget = WorkBudget(steps: steps)
        let matches = FilterField.all(fields, match: event, &budget)
        event.spend(steps - budget.left)
        return matches || event.budget.isSpent
    }

    /// Whether the event matches, within a budget of the caller. If it is exhausted, the result is `true`.
    func matches(_ event: EventView, _ budget: inout WorkBudget) -> Bool {
        FilterField.all(fields, match: event, &budget)
    }

    /// Why the event does not match: the first clause that fails. `nil` if it matches.
    package func mismatch(_ event: EventView) -> FilterMismatch? {
        matches(event) ? nil : firstMismatch(event)
    }

    /// Returns the first condition that fails, for an event that does not match.
    func firstMismatch(_ event: EventView) -> FilterMismatch? {
        // It was decided within the budget, and so it is again at each depth.
        let steps = min(Self.maxSteps * (Self.maxDepth + 1), event.budget.left)
        var budget = WorkBudget(steps: steps)
        defer { event.spend(steps - budget.left) }
        return FilterField.firstMismatch(fields, event, at: "", &budget)
    }
}

extension ContentFilter: Hashable {
    public static func == (one: ContentFilter, two: ContentFilter) -> Bool { one === two || one.text == two.text }
    /// By the text of the filter.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
