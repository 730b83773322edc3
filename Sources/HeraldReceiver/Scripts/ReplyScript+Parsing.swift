internal import HeraldJSON

/// Why a script is invalid, for people.
package struct ScriptError: Error, Equatable, CustomStringConvertible, Sendable {
    package let description: String
}

extension ReplyScript {
    /// The script in a request's target; `nil` if there is none. A path whose first word is a directive consists of
    /// directives; other parameters of a query are ignored.
    init?(target: String) throws(ScriptError) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var words = parts[0].split(separator: "/").map { FormFields.decoded(Array($0.utf8)[...], isPath: true) }[...]
        let isPathPlain = words.first.flatMap(Directive.named) == nil
        var isPlain = isPathPlain
        while !isPathPlain, let name = words.popFirst() {
            guard let directive = Directive.named(name) else {
                throw ScriptError(description: "/\(name) is no directive. `herald receiver --help` lists all.")
            }
            try apply(directive, directive.placeholder == nil ? "" : words.popFirst())
        }
        for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let directive = Directive.named(FormFields.decoded(Array(sides[0].utf8)[...])) else { continue }
            isPlain = false
            let value = sides.count > 1 ? FormFields.decoded(Array(sides[1].utf8)[...]) : nil
            try apply(directive, directive.placeholder == nil ? "" : value)
        }
        if isPlain { return nil }
    }

    /// An object of directives, or an array of such objects, one for each step.
    init(json: JSONValue, path: String) throws(ScriptError) {
        let objects = json.kind == .array ? Array(json.elements) : [json]
        guard !objects.isEmpty, objects.count <= Directive.maxSteps, objects.allSatisfy({ $0.kind == .object }) else {
            throw ScriptError(
                description: "\(path) must be an object of directives, or an array of up to \(Directive.maxSteps) such."
            )
        }
        for (index, object) in objects.enumerated() {
            if index > 0 { steps.append(ReplyStep()) }
            for (name, value) in object.members {
                guard let directive = Directive.named(name) else {
                    throw ScriptError(
                        description: "\(path): \(name) is no directive. `herald receiver --help` lists all.")
                }
                for value in value.kind == .array ? Array(value.elements) : [value] {
                    if directive.placeholder == nil, value.bool == false { continue }
                    do throws(ScriptError) {
                        try apply(directive, Self.text(value))
                    } catch {
                        throw ScriptError(description: "\(path): \(error)")
                    }
                }
            }
        }
    }

    private mutating func apply(_ directive: Directive, _ value: String?) throws(ScriptError) {
        guard let value else {
            throw ScriptError(description: "\(directive.name) needs a value: \(directive.usage)")
        }
        do throws(Directive.Disallowed) {
            try directive.apply(value, &self)
        } catch {
            throw ScriptError(description: "\(directive.name) is \"\(value)\", but must be \(error.allowed).")
        }
    }

    private static func text(_ value: JSONValue) -> String? {
        switch value.kind {
        case .string: value.string
        case .number, .bool: String(decoding: value.bytes, as: UTF8.self)
        case .null, .array, .object: nil
        }
    }
}
