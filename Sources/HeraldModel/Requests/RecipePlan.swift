package import HeraldCrypto
import HeraldJSON

/// A recipe, compiled. Immutable, shared by all threads.
package struct RecipePlan: Sendable {
    package enum Method: String, CaseIterable, Sendable {
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    package enum Body: Sendable {
        /// That of the delegate's `format`.
        case format
        /// The bytes that the publisher has sent as `data`.
        case data
        case none
        case template(Template)
    }

    package enum Signature: Sendable, Equatable {
        /// That of plain callbacks: Standard Webhooks.
        case standard
        case scheme(Scheme)
    }

    package struct Named: Sendable {
        package let name: String
        package let value: TextTemplate
    }

    package private(set) var method = Method.post
    package private(set) var path: TextTemplate?
    package private(set) var query: [Named] = []
    package private(set) var headers: [Named] = []
    package private(set) var body = Body.format
    /// The body is an object, which is sent as a form.
    package private(set) var isForm = false
    package private(set) var signatures = [Signature.standard]
    package private(set) var auth: RecipeAuth?
    /// On `{"status": …, "body": …}`, below `data` of an event.
    package private(set) var success: ContentFilter?

    static let maxSignatures = 3
    static let maxHeaders = 16
    static let maxQuery = 32
    private static let amazonDate = "x-amz-date"

    /// A recipe from the store; `nil` if it is not one that this release understands.
    package init?(_ recipe: Recipe) {
        var errors: [FieldError] = []
        self.init(recipe.parts, at: "", &errors)
        if !errors.isEmpty { return nil }
    }

    /// - Parameters:
    ///   - parts: the members of the recipe.
    ///   - pointer: where the recipe stands.
    ///   - changed: the members whose conditions are refused if they are hardly meant; the others are from the store.
    ///   - errors: all errors are appended.
    init(
        _ parts: [(name: String, value: JSONValue)], at pointer: String, changed: Set<String> = [],
        _ errors: inout [FieldError]
    ) {
        for (name, value) in parts {
            read(name, value, "\(pointer)/\(name)", refusesMistakes: changed.contains(name), &errors)
        }
        if isForm {
            switch body {
            case .template:
                if let body = parts.first(where: { $0.name == "body" })?.value {
                    errors += Self.formProblems(body, "\(pointer)/body")
                }
            case .format, .data, .none:
                errors.append(FieldError("\(pointer)/form", "needs a body that is a template of an object"))
            }
        }
        if case .aws = auth, let date = headers.first(where: { $0.name.lowercased() == Self.amazonDate }) {
            errors.append(
                FieldError(JSONPointer.child("\(pointer)/headers", date.name), "is a header that auth.aws sets"))
        }
    }

    /// The headers that it sets beside those of plain callbacks, in lower case.
    var headerNames: Set<String> {
        signatures.reduce(into: unsignedHeaderNames) { names, signature in
            if case .scheme(let scheme) = signature { names.formUnion(scheme.headerNames.map { $0.lowercased() }) }
        }
    }

    /// The headers that it sets beside those of plain callbacks and of signatures, in lower case.
    var unsignedHeaderNames: Set<String> {
        var names = headers.map { $0.name.lowercased() }
        if auth != nil { names.append("authorization") }
        if case .aws = auth { names.append(Self.amazonDate) }
        return Set(names)
    }

    private mutating func read(
        _ name: String, _ value: JSONValue, _ pointer: String, refusesMistakes: Bool, _ errors: inout [FieldError]
    ) {
        func wrong(_ detail: String) { errors.append(FieldError(pointer, detail)) }
        switch name {
        // It was written out when the recipe was read.
        case "preset": break
        case "method":
            if let method = value.string.flatMap(Method.init) {
                self.method = method
            } else {
                wrong("must be " + Method.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))
            }
        case "path": path = Self.template(value, .path, pointer, &errors)
        case "query": query = Self.named(value, .query, pointer, max: Self.maxQuery, &errors) { _ in nil }
        case "headers":
            headers = Self.named(
                value, .header, pointer, max: Self.maxHeaders, &errors, CallbackHeaderRules.recipeProblem)
        case "body": body = Self.body(value, pointer, refusesMistakes, &errors)
        case "form":
            if let isForm = value.bool { self.isForm = isForm } else { wrong("must be true or false") }
        case "sign": signatures = Self.signatures(value, pointer, &errors)
        case "auth": auth = RecipeAuth(value, at: pointer, &errors)
        case "success": success = Self.success(value, pointer, refusesMistakes, &errors)
        default: wrong("is not a member of request; members are: \(Recipe.members.joined(separator: ", "))")
        }
    }

    private static func template(
        _ value: JSONValue, _ use: TextTemplate.Use, _ pointer: String, _ errors: inout [FieldError]
    ) -> TextTemplate? {
        guard let text = value.string else {
            return errors.refuse(pointer, "must be a text, which may have placeholders such as {{ type }}")
        }
        do {
            return try TextTemplate(text, for: use, at: pointer)
        } catch {
            errors.append(error)
            return nil
        }
    }

    private static func named(
        _ value: JSONValue, _ use: TextTemplate.Use, _ pointer: String, max: Int, _ errors: inout [FieldError],
        _ problem: (String) -> String?
    ) -> [Named] {
        guard value.kind == .object, value.count <= max else {
            errors.append(FieldError(pointer, "must be an object with at most \(max) members, which are texts"))
            return []
        }
        var names: Set<String> = []
        return value.members.compactMap { name, value in
            let place = JSONPointer.child(pointer, name)
            if let detail = problem(name) { errors.append(FieldError(place, detail)) }
            if use == .header, !names.insert(name.lowercased()).inserted {
                errors.append(FieldError(place, "is given twice"))
            }
            return template(value, use, place, &errors).map { Named(name: name, value: $0) }
        }
    }

    private static func body(
        _ value: JSONValue, _ pointer: String, _ refusesMistakes: Bool, _ errors: inout [FieldError]
    ) -> Body {
        if value.isString("data") { return .data }
        if value.isString("none") { return .none }
        do {
            return .template(try Template(value, at: pointer, refusesMistakes: refusesMistakes))
        } catch {
            errors += error.errors
            return .none
        }
    }

    /// The parts of a template that no form can have, whatever the event is.
    private static func formProblems(_ body: JSONValue, _ pointer: String) -> [FieldError] {
        func isDirective(_ value: JSONValue) -> Bool {
            value.members.first(where: { _ in true })?.key.utf8.first == UInt8(ascii: "$")
        }
        guard body.kind == .object else {
            if let text = body.string, TemplateParser.hasPlaceholder(text) { return [] }
            return [FieldError(pointer, "must be an object to be sent as a form")]
        }
        if isDirective(body) { return [] }
        return body.members.compactMap { name, value in
            guard value.kind == .array || value.kind == .object && !isDirective(value) else { return nil }
            return FieldError(
                JSONPointer.child(pointer, name), "must be a text, a number, true, false or null in a form")
        }
    }

    private static func signatures(
        _ value: JSONValue, _ pointer: String, _ errors: inout [FieldError]
    ) -> [Signature] {
        guard value.kind == .array, value.count <= maxSignatures else {
            errors.append(
                FieldError(
                    pointer,
                    "must be an array of at most \(maxSignatures) schemes, each a name (\(Scheme.presetNames.joined(separator: ", "))) or an object"
                ))
            return []
        }
        return value.elements.enumerated().compactMap { index, value in
            signature(value, "\(pointer)/\(index)", &errors)
        }
    }

    private static func signature(
        _ value: JSONValue, _ pointer: String, _ errors: inout [FieldError]
    ) -> Signature? {
        if value.isString("standard") { return .standard }
        if let name = value.string {
            if let scheme = Scheme.preset(name) { return .scheme(scheme) }
            return errors.refuse(
                pointer, "is not the name of a scheme; names are: \(Scheme.presetNames.joined(separator: ", "))")
        }
        return Scheme(value, at: pointer, &errors).map { .scheme($0) }
    }

    /// The filter stands for the data of an event, so that it has the grammar of a delegate's `filter`.
    private static func success(
        _ value: JSONValue, _ pointer: String, _ refusesMistakes: Bool, _ errors: inout [FieldError]
    ) -> ContentFilter? {
        guard value.kind == .object, value.count > 0,
            value.members.allSatisfy({ ["status", "body", "$or"].contains($0.key) })
        else {
            return errors.refuse(pointer, "must be a filter on status and body, such as {\"body\": {\"ok\": [true]}}")
        }
        let data = JSONWriter.document { $0.member("data", value) }
        guard let document = try? JSONDocument(parsing: data) else { return nil }
        var found: [FieldError] = []
        let filter = ContentFilter(document.root, at: "", &found, refusesMistakes: refusesMistakes)
        errors += found.map { FieldError(pointer + $0.pointer.dropFirst("/data".count), $0.detail) }
        return filter
    }

    // MARK: Responses

    /// Whether a 2xx response means that the receiver has the event.
    /// - Parameter body: its start; what is no JSON, or repeats a key, counts as a text.
    package func isSuccess(status: Int, body: [UInt8]) -> Bool {
        guard let success else { return true }
        let data = JSONWriter.document { object in
            object.member("status", status)
            if let document = try? JSONDocument(parsing: body, limits: JSONLimits(keyBytes: .max)) {
                object.member("body", document.root)
            } else {
                object.member("body", String(decoding: body, as: UTF8.self))
            }
        }
        return success.matches(
            EventView(Event(id: "response", type: "response", subject: nil, time: 0, data: data)))
    }
}
