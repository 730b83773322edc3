import HeraldJSON

/// Where a value is: `data.items[0]['odd name']`.
struct TemplatePath: Sendable {
    enum Start: Sendable {
        case root(TemplateRoot)
        /// The element of an enclosing `$each`, counted from the outermost one.
        case element(Int)
    }

    enum Step: Sendable {
        case member(String)
        case index(Int)
    }

    let start: Start
    let steps: [Step]
    /// As written, for messages.
    let text: String

    /// The value there; `nil` if the budget is exhausted.
    func value(_ context: TemplateContext, _ budget: inout WorkBudget) -> TemplateValue? {
        guard budget.spend(1) else { return nil }
        var value =
            switch start {
            case .root(let root): context.roots.value(of: root)
            case .element(let index): TemplateValue.json(context.elements[index])
            }
        for step in steps {
            guard case .json(let container) = value else { return .missing }
            // Searching passes the values before the one it finds.
            guard budget.spend(1 + container.count / 2) else { return nil }
            let found: JSONValue? =
                switch step {
                case .member(let key): container[key]
                case .index(let index): container.element(at: index)
                }
            guard let found else { return .missing }
            if case .member = step, !budget.spend(found.keyCost) { return nil }
            value = .json(found)
        }
        return value
    }
}

/// The values that paths refer to while a template is rendered.
struct TemplateContext {
    let roots: TemplateRoots
    /// The elements of the enclosing `$each`, the outermost first.
    var elements: [JSONValue] = []
}
