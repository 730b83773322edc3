import HeraldJSON

/// Makes JSON of a compiled template and an event. Every loop spends steps of the budget.
struct TemplateRenderer {
    private(set) var output: [UInt8] = []
    private(set) var budget: WorkBudget
    private var context: TemplateContext

    init(_ roots: TemplateRoots, _ budget: WorkBudget) {
        context = TemplateContext(roots: roots)
        self.budget = budget
    }

    mutating func render(_ node: TemplateNode) throws(FieldError) {
        switch node {
        case .constant(let bytes): try append(bytes[...], at: "")
        case .text(let pieces, let pointer): try appendString(try text(pieces, at: pointer), at: pointer)
        case .value(let expression, let pointer): try append(value(of: expression, at: pointer), at: pointer)
        case .object(let members, let pointer):
            try appendByte(UInt8(ascii: "{"), at: pointer)
            for (index, member) in members.enumerated() {
                if index > 0 { try appendByte(UInt8(ascii: ","), at: pointer) }
                try append(member.key[...], at: pointer)
                try render(member.value)
            }
            try appendByte(UInt8(ascii: "}"), at: pointer)
        case .array(let elements, let pointer):
            try appendByte(UInt8(ascii: "["), at: pointer)
            for (index, element) in elements.enumerated() {
                if index > 0 { try appendByte(UInt8(ascii: ","), at: pointer) }
                try render(element)
            }
            try appendByte(UInt8(ascii: "]"), at: pointer)
        case .choice(let filter, let then, let otherwise, let pointer):
            let matches = filter.matches(context.roots.event, &budget)
            try spend(1, at: pointer)
            try render(matches ? then : otherwise)
        case .each(let path, let body, let pointer): try renderEach(path, body, at: pointer)
        case .members(let path, let names, let areKept, let pointer):
            try renderMembers(of: path, names, areKept: areKept, at: pointer)
        case .merge(let parts, let pointer): try renderMerge(parts, at: pointer)
        }
    }

    // MARK: Directives

    private mutating func renderEach(
        _ path: TemplatePath, _ body: TemplateNode, at pointer: String
    ) throws(FieldError) {
        try appendByte(UInt8(ascii: "["), at: pointer)
        switch try value(of: path, at: pointer) {
        case .missing: break
        case .json(let value) where value.isNull: break
        case .json(let array) where array.kind == .array:
            guard array.count <= TemplateLimits.elements else {
                throw FieldError(
                    pointer,
                    "repeats at most \(TemplateLimits.elements) elements, but \(path.text) has \(array.count)")
            }
            for (index, element) in array.elements.enumerated() {
                try spend(2, at: pointer)
                if index > 0 { try appendByte(UInt8(ascii: ","), at: pointer) }
                context.elements.append(element)
                try render(body)
                context.elements.removeLast()
            }
        case .json, .text, .integer: throw FieldError(pointer, "needs an array, but \(path.text) is none")
        }
        try appendByte(UInt8(ascii: "]"), at: pointer)
    }

    private mutating func renderMembers(
        of path: TemplatePath, _ names: Set<ExactText>, areKept: Bool, at pointer: String
    ) throws(FieldError) {
        guard case .json(let object) = try value(of: path, at: pointer), object.kind == .object else {
            return try append(.missing, at: pointer)
        }
        try appendByte(UInt8(ascii: "{"), at: pointer)
        var isFirst = true
        for (key, member) in object.members {
            try spend(1 + member.memberCost, at: pointer)
            guard names.contains(ExactText(key)) == areKept else { continue }
            if !isFirst { try appendByte(UInt8(ascii: ","), at: pointer) }
            isFirst = false
            try appendString(key, at: pointer)
            try appendByte(UInt8(ascii: ":"), at: pointer)
            try append(.json(member), at: pointer)
        }
        try appendByte(UInt8(ascii: "}"), at: pointer)
    }

    private mutating func renderMerge(_ parts: [TemplateNode], at pointer: String) throws(FieldError) {
        var members: [(key: String, value: JSONValue)] = []
        var positions: [ExactText: Int] = [:]
        for (index, part) in parts.enumerated() {
            let object = try object(part, at: "\(pointer)/\(index)")
            guard let object else { continue }
            for (key, value) in object.members {
                try spend(12 + value.memberCost, at: pointer)
                if let position = positions[ExactText(key)] {
                    members[position].value = value
                } else {
                    positions[ExactText(key)] = members.count
                    members.append((key, value))
                }
            }
        }
        try appendByte(UInt8(ascii: "{"), at: pointer)
        for (index, member) in members.enumerated() {
            if index > 0 { try appendByte(UInt8(ascii: ","), at: pointer) }
            try appendString(member.key, at: pointer)
            try appendByte(UInt8(ascii: ":"), at: pointer)
            try append(.json(member.value), at: pointer)
        }
        try appendByte(UInt8(ascii: "}"), at: pointer)
    }

    /// The object that a part makes; `nil` for `null`.
    private mutating func object(_ part: TemplateNode, at pointer: String) throws(FieldError) -> JSONValue? {
        var saved: [UInt8] = []
        swap(&saved, &output)
        try render(part)
        swap(&saved, &output)
        // A parser and its memory take 1.2 µs.
        try spend(64 + saved.count / 4, at: pointer)
        var parser = JSONParser(limits: TemplateLimits.rendered)
        guard let value = try? parser.parse(saved), value.kind == .object || value.isNull else {
            throw FieldError(pointer, "makes neither an object nor null, so it can't be merged")
        }
        return value.isNull ? nil : value
    }

    // MARK: Values

    private mutating func value(of path: TemplatePath, at pointer: String) throws(FieldError) -> TemplateValue {
        guard let value = path.value(context, &budget) else { throw Self.tooMuchWork(pointer) }
        return value
    }

    private mutating func value(
        of expression: TemplateExpression, at pointer: String
    ) throws(FieldError) -> TemplateValue {
        guard let value = expression.value(context, &budget) else {
            throw budget.isSpent ? Self.tooMuchWork(pointer) : Self.tooLarge(pointer)
        }
        return value
    }

    /// The text of a string with placeholders.
    mutating func text(_ pieces: [TemplatePiece], at pointer: String) throws(FieldError) -> String {
        var text = ""
        for piece in pieces {
            switch piece {
            case .text(let bytes):
                try spend(1 + bytes.count / 16, at: pointer)
                text += String(decoding: bytes, as: UTF8.self)
            case .value(let expression): text += try self.text(of: expression, at: pointer)
            }
            guard text.utf8.count <= TemplateLimits.outputBytes else { throw Self.tooLarge(pointer) }
        }
        return text
    }

    /// The text of a placeholder.
    mutating func text(of expression: TemplateExpression, at pointer: String) throws(FieldError) -> String {
        guard let text = try value(of: expression, at: pointer).text(&budget) else { throw Self.tooMuchWork(pointer) }
        return text
    }

    // MARK: Output

    private mutating func append(_ value: TemplateValue, at pointer: String) throws(FieldError) {
        switch value {
        case .missing: try append(Array("null".utf8)[...], at: pointer)
        case .text(let text): try appendString(text, at: pointer)
        case .integer(let number): try append(Array(String(number).utf8)[...], at: pointer)
        case .json(let value):
            let count = value.byteRange.count
            try spend(1 + count / 32, at: pointer)
            guard output.count + count <= TemplateLimits.outputBytes else { throw Self.tooLarge(pointer) }
            value.withBytes { output.append(contentsOf: $0) }
        }
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>, at pointer: String) throws(FieldError) {
        try spend(1 + bytes.count / 32, at: pointer)
        guard output.count + bytes.count <= TemplateLimits.outputBytes else { throw Self.tooLarge(pointer) }
        output += bytes
    }

    private mutating func appendByte(_ byte: UInt8, at pointer: String) throws(FieldError) {
        guard output.count < TemplateLimits.outputBytes else { throw Self.tooLarge(pointer) }
        output.append(byte)
    }

    private mutating func appendString(_ text: String, at pointer: String) throws(FieldError) {
        try spend(1 + text.utf8.count / 4, at: pointer)
        // Hands the bytes over, so that they are not copied.
        var bytes: [UInt8] = []
        swap(&bytes, &output)
        output = Self.appending(text, to: consume bytes)
        guard output.count <= TemplateLimits.outputBytes else { throw Self.tooLarge(pointer) }
    }

    private static func appending(_ text: String, to bytes: consuming [UInt8]) -> [UInt8] {
        var json = JSONWriter(appendingTo: consume bytes)
        json.value(text)
        return json.bytes
    }

    private mutating func spend(_ steps: Int, at pointer: String) throws(FieldError) {
        guard budget.spend(steps) else { throw Self.tooMuchWork(pointer) }
    }

    private static func tooLarge(_ pointer: String) -> FieldError {
        FieldError(pointer, "makes more than \(TemplateLimits.outputBytes) bytes")
    }

    private static func tooMuchWork(_ pointer: String) -> FieldError {
        FieldError(pointer, "takes more than \(TemplateLimits.steps) steps")
    }
}
