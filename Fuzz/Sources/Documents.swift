import HeraldJSON

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// An accepted document is equal after it is written and parsed again, and each of its parts can be read.
func fuzzJSON(_ bytes: [UInt8]) {
    guard let document = try? JSONDocument(parsing: bytes, limits: JSONLimits(depth: 64, values: 1000)) else { return }
    var copy = JSONWriter(capacity: bytes.count)
    copy.value(Rewritten(value: document.root))
    guard let again = try? JSONDocument(parsing: copy.bytes) else { preconditionFailure("it can't be read again") }
    precondition(isEqual(document.root, again.root), "it reads differently")
}

/// A schema, a line break, a value. Validation ends, and what fits once fits again.
func fuzzSchema(_ bytes: [UInt8]) {
    let (first, second) = bytes.twoParts
    guard let text = try? JSONDocument(parsing: first), let value = try? JSONDocument(parsing: second) else { return }
    do throws(SchemaError) {
        var budget = WorkBudget()
        let schema = try JSONSchema(text.root, assertsFormats: true, within: &budget)
        func check() -> [SchemaProblem]? {
            var budget = WorkBudget()
            let violations = schema.violations(of: value.root, within: &budget)
            return budget.isSpent ? nil : violations
        }
        let violations = check()
        precondition(violations?.count ?? 0 <= 20 && violations == check())
    } catch {
        precondition(!error.problems.isEmpty, "refused without a reason")
    }
}

/// A filter, a line break, the data of an event. It means the same when stored, and explains exactly what it refuses.
func fuzzFilter(_ bytes: [UInt8]) {
    let (first, second) = bytes.twoParts
    guard let document = try? JSONDocument(parsing: first) else { return }
    var errors: [FieldError] = []
    let filter = ContentFilter(document.root, at: "", &errors)
    precondition((filter == nil) == !errors.isEmpty)
    guard let filter else { return }
    guard let again = ContentFilter(text: filter.text) else { preconditionFailure("it can't be read again") }
    precondition(again == filter)
    let view = EventView(Event(id: "evt_1", type: "order.paid", subject: "aBc", time: 0, data: second))
    let matches = filter.matches(view)
    precondition(again.matches(view) == matches && (filter.mismatch(view) == nil) == matches)
}

/// A pattern, a line break, a type.
func fuzzPattern(_ bytes: [UInt8]) {
    let (first, second) = bytes.twoParts
    guard let pattern = EventPattern(first.text) else { return }
    precondition(EventPattern(pattern.text) == pattern && pattern.text.utf8.elementsEqual(first))
    if EventType.isValid(second.text), case .exact(let type) = pattern {
        precondition(pattern.matches(second.text) == (type == second.text))
    }
}

/// Each value rewritten, member by member.
private struct Rewritten: JSONWritable {
    let value: JSONValue

    func write(to json: inout JSONWriter) {
        switch value.kind {
        case .object: json.object { for (key, value) in value.members { $0.member(key, Rewritten(value: value)) } }
        case .array: json.array { for value in value.elements { $0.element(Rewritten(value: value)) } }
        case .string: json.value(value.string)
        case .number: json.value(.raw(value.bytes))
        case .bool: json.value(value.bool)
        case .null: json.null()
        }
    }
}

private func isEqual(_ one: JSONValue, _ two: JSONValue) -> Bool {
    guard one.kind == two.kind, one.count == two.count else { return false }
    switch one.kind {
    case .object: return zip(one.members, two.members).allSatisfy { $0.key == $1.key && isEqual($0.value, $1.value) }
    case .array: return zip(one.elements, two.elements).allSatisfy(isEqual)
    case .string: return one.string == two.string
    case .number: return one.bytes == two.bytes && one.integer == two.integer
    case .bool, .null: return one.bool == two.bool
    }
}

/// A template, a line break, the data of an event. It makes JSON, and the same twice.
func fuzzTemplate(_ bytes: [UInt8]) {
    let (first, second) = bytes.twoParts
    guard let document = try? JSONDocument(parsing: first), (try? JSONDocument(parsing: second)) != nil else { return }
    let template: Template
    do throws(FieldErrors) {
        template = try Template(document.root, at: "/body")
    } catch {
        precondition(!error.errors.isEmpty && error.errors.allSatisfy { $0.pointer.hasPrefix("/body") })
        return
    }
    let event = Event(id: "evt_1", type: "order.paid", subject: "aBc", time: 0, data: second)
    func render() -> [UInt8]? {
        var budget = WorkBudget(steps: TemplateLimits.steps)
        let metadata = [KeyValue("team", "a")]
        let roots = TemplateRoots(EventView(event), delegate: "dlg_1", metadata: metadata)
        do throws(FieldError) {
            return try template.render(roots, &budget)
        } catch {
            precondition(error.pointer.hasPrefix("/body"))
            return nil
        }
    }
    let made = render()
    precondition(made == render())
    guard let made else { return }
    precondition(made.count <= TemplateLimits.outputBytes)
    let limits = JSONLimits(depth: 80, values: .max, keyBytes: .max)
    precondition((try? JSONDocument(parsing: made, limits: limits)) != nil, "it makes no JSON")
}
