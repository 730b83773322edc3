import HeraldJSON

/// The content of a placeholder: `data.user.name ?? 'nobody' | upper`.
struct TemplateExpression: Sendable {
    enum Operand: Sendable {
        case path(TemplatePath)
        case literal(TemplateValue)
    }

    /// The first one that is present is the value; at least one.
    let operands: [Operand]
    /// Applied to the value, in this order.
    let functions: [TemplateFunction]

    /// - Returns: `nil` if the budget is exhausted, or if a text on the way is too large.
    func value(_ context: TemplateContext, _ budget: inout WorkBudget) -> TemplateValue? {
        var result = TemplateValue.missing
        for operand in operands {
            switch operand {
            case .literal(let value):
                guard budget.spend(1) else { return nil }
                result = value
            case .path(let path):
                guard let value = path.value(context, &budget) else { return nil }
                result = value
            }
            if result.isPresent { break }
        }
        for (index, function) in functions.enumerated() {
            let next = index + 1 < functions.count ? functions[index + 1] : nil
            guard let value = function.apply(to: result, before: next, &budget) else { return nil }
            result = value
            // Escaping makes a text longer.
            if case .text(let text) = result, text.utf8.count > TemplateLimits.outputBytes { return nil }
        }
        return result
    }
}

/// A part of a string: characters, or a placeholder.
enum TemplatePiece: Sendable {
    case text([UInt8])
    case value(TemplateExpression)
}

/// The names that a placeholder can use.
struct TemplateScope {
    /// The names of the elements of the enclosing `$each`, the outermost first.
    var elements: [String] = []
    /// Whether `attempt` is known: bodies are the same bytes in all attempts.
    var hasAttempt = false

    func start(_ name: String) throws(TextError) -> TemplatePath.Start {
        if let index = elements.lastIndex(of: name) { return .element(index) }
        guard let root = TemplateRoot(rawValue: name) else {
            let known = (elements + TemplateRoot.allCases.map(\.rawValue)).joined(separator: ", ")
            throw TextError("uses \(name), which does not exist; paths begin with: \(known)")
        }
        guard root != .attempt || hasAttempt else {
            throw TextError(
                "uses attempt, which only headers can: all attempts of an event have the same path, query and body")
        }
        return .root(root)
    }
}
