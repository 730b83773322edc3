import HeraldJSON
import HeraldRuntime

/// Prints lists and single resources: tables and fields for people, the server's JSON for scripts.
struct Listing {
    let isJSON: Bool

    init(_ invocation: Invocation) { isJSON = invocation.has("json") }

    /// Sends a request, and prints the resource of the response.
    static func show(
        _ invocation: Invocation, _ method: String, _ path: [String], query: [(String, String?)] = [],
        body: [UInt8]? = nil, named names: [String: String] = [:]
    ) throws(CommandError) {
        let answer = try APIClient(invocation).send(method, path, query: query, body: body)
        try Listing(invocation).print(answer, named: names)
    }

    /// Sends a request, and prints a sentence about it, or the server's JSON.
    static func report(
        _ invocation: Invocation, _ method: String, _ path: [String], query: [(String, String?)] = [],
        body: [UInt8]? = nil, _ sentence: (JSONValue) -> String
    ) throws(CommandError) {
        let answer = try APIClient(invocation).send(method, path, query: query, body: body)
        try Listing(invocation).print(answer, sentence(answer.json))
    }

    /// One resource.
    /// - Parameter names: the labels of members whose names would mislead beside a number.
    func print(_ answer: APIClient.Answer, named names: [String: String] = [:]) throws(CommandError) {
        if isJSON { return answer.body.isEmpty ? () : try Output.line(json: answer.body) }
        try print(fields: answer.json, named: names)
    }

    /// A sentence about the action, or the server's JSON.
    func print(_ answer: APIClient.Answer, _ sentence: String) throws(CommandError) {
        if !isJSON { return try Output.line(sentence.printable()) }
        if !answer.body.isEmpty { try Output.line(json: answer.body) }
    }

    /// The members of an object, one per line, without empty ones. A list of objects takes a line for each.
    func print(
        fields object: JSONValue, without hidden: [String] = [], named names: [String: String] = [:]
    ) throws(CommandError) {
        func shown(_ key: String) -> String { names[key] ?? key.replaced("_", by: " ").printable() }
        let members = object.members.filter { !hidden.contains($0.key) && !$0.value.saysNothing }
        let width = members.map { shown($0.key).count }.max() ?? 0
        for (key, value) in members {
            let name = shown(key)
            let isList = value.kind == .array && value.elements.allSatisfy { $0.kind == .object }
            for (index, text) in (isList ? value.elements.map(\.plainText) : [value.plainText]).enumerated() {
                let cell = ["status", "state", "outcome"].contains(key) ? Table.Cell(state: text) : Table.Cell(text)
                let label = index == 0 ? name : ""
                let gap = String(repeating: " ", count: max(0, width - label.count) + 2)
                try Output.line(label + gap + Table.colored(cell.text, Output.usesColor ? cell.tone : .plain))
            }
        }
    }
}

extension Command {
    /// A command that prints a list, page by page.
    /// - Parameters:
    ///   - path: the path of the list in the API.
    ///   - query: the parameters, besides those of the page.
    ///   - none: the text for an empty list.
    static func listing(
        name: String, summary: String, details: String = "", arguments: [Argument] = [], flags: [Flag] = [],
        examples: [String] = [], path: @escaping @Sendable (Invocation) throws(CommandError) -> [String],
        query: @escaping @Sendable (Invocation) throws(CommandError) -> [(String, String?)] = { _ in [] },
        none: String, _ table: @autoclosure @escaping @Sendable () -> Table,
        row: @escaping @Sendable (JSONValue) -> [Table.Cell]
    ) -> Command {
        Command(
            name: name, summary: summary, details: details, arguments: arguments,
            flags: flags + Flags.list + Flags.client, examples: examples,
            action: .run { call throws(CommandError) in
                let (list, conditions) = (try path(call), try query(call))
                let given = try call.number("limit", 1...1_000_000_000)
                let isJSON = call.has("json")
                var shown = table().formed(call)
                var count = 0
                let hasMore = try APIClient(call).pages(
                    list, query: conditions, limit: call.has("all") ? nil : given ?? 50
                ) { elements throws(CommandError) in
                    count += elements.count
                    if isJSON {
                        for element in elements { try Output.line(json: element.bytes) }
                    } else if !elements.isEmpty {
                        try shown.print(elements.map(row))
                    }
                }
                if count == 0 && !isJSON { Output.message(none + "\n") }
                // Who gives a limit expects that.
                if hasMore && given == nil {
                    Output.message("The first \(count). There are more: --all, or --limit NUMBER.\n")
                }
            })
    }
}

extension JSONValue {
    fileprivate var saysNothing: Bool { isNull || (kind == .object || kind == .array) && count == 0 || isString("") }

    /// For people: a string without quotes, a list with commas, a small object as text, everything else as JSON.
    var plainText: String {
        switch kind {
        case .null: ""
        case .string: string ?? ""
        case .array: elements.map(\.plainText).joined(separator: ", ")
        case .object: isFlat(depth: 2) ? words : compactText
        case .bool, .number: compactText
        }
    }

    /// Whether objects are nested at most this deep, and there are only scalars otherwise.
    private func isFlat(depth: Int) -> Bool {
        switch kind {
        case .array: count == 0
        case .object: depth > 0 && !members.contains { !$0.value.isFlat(depth: depth - 1) }
        default: true
        }
    }

    private var words: String {
        members.filter { !$0.value.saysNothing }.compactMap { key, value in
            let text = value.kind == .object ? "(\(value.words))" : value.plainText
            return text == "()" ? nil : "\(key) \(text)"
        }.joined(separator: ", ")
    }

    /// The JSON itself, on one line.
    var compactText: String { String(decoding: bytes.map { $0 == 10 || $0 == 13 ? 32 : $0 }, as: UTF8.self) }

    /// A member as short text; empty if there is none.
    func text(_ key: String) -> String { self[key]?.plainText ?? "" }

    /// The elements of a member; none if it is not an array.
    func list(_ key: String) -> [JSONValue] { self[key].map { Array($0.elements) } ?? [] }

    /// These members as cells of a table: states in their color, and past times faint.
    func cells(_ keys: String...) -> [Table.Cell] {
        keys.map { key in
            switch key {
            case "state", "status", "outcome": Table.Cell(state: text(key))
            case "time", "created_at", "updated_at", "seen_at", "moved_at": Table.Cell(text(key), .faint)
            default: Table.Cell(text(key))
            }
        }
    }
}
