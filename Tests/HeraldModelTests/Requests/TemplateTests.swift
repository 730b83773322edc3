import HeraldJSON
import HeraldModel
import HeraldTestSupport
import Testing

@Suite("Templates")
struct TemplateTests {
    private static let data = """
        {"id": 8202522731445525542, "amount": 12.50, "user": {"name": "Zoë \\"Z\\"", "plan": null, "odd name": true},
         "tags": ["a", "b <c>"], "items": [{"sku": "x", "n": 1}, {"sku": "y", "n": 2}], "at": "2026-01-02T03:04:05+01:00",
         "ts": 1767319445, "empty": [], "url": "a/b?c"}
        """

    private static func event(_ data: String = data) -> Event {
        Event(
            "order.paid", id: "evt_1", subject: "order:7", attributes: [KeyValue("source", "/shop")], data: data)
    }

    private func roots(_ event: Event = TemplateTests.event(), attempt: Int? = nil) -> TemplateRoots {
        TemplateRoots(
            EventView(event), delegate: "dlg_1", metadata: [KeyValue("team", "blue")], attempt: attempt)
    }

    private func rendered(_ template: String, _ event: Event = TemplateTests.event()) throws -> String {
        let template = try Template(JSONDocument(parsing: template).root, at: "/body")
        var budget = WorkBudget(steps: TemplateLimits.steps)
        let bytes = try template.render(roots(event), &budget)
        _ = try JSONDocument(parsing: bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func errors(_ template: String) throws -> [FieldError] {
        let source = try JSONDocument(parsing: template).root
        do throws(FieldErrors) {
            _ = try Template(source, at: "/body")
            return []
        } catch {
            return error.errors
        }
    }

    private func failure(_ template: String, _ event: Event = TemplateTests.event()) throws -> FieldError? {
        let template = try Template(JSONDocument(parsing: template).root, at: "/body")
        var budget = WorkBudget(steps: TemplateLimits.steps)
        do throws(FieldError) {
            _ = try template.render(roots(event), &budget)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Placeholders

    @Test(
        "a string that is one placeholder becomes the value with its type",
        arguments: [
            ("{{ id }}", #""evt_1""#), ("{{type}}", #""order.paid""#), ("{{ subject }}", #""order:7""#),
            ("{{ source }}", #""/shop""#), ("{{ delegate.id }}", #""dlg_1""#),
            ("{{ delegate.metadata.team }}", #""blue""#), ("{{ delegate.metadata }}", #"{"team":"blue"}"#),
            ("{{ data.id }}", "8202522731445525542"), ("{{ data.amount }}", "12.50"),
            ("{{ data.user['odd name'] }}", "true"), ("{{ data.user.plan }}", "null"),
            ("{{ data.nothing.at.all }}", "null"),
            ("{{ data.tags[1] }}", #""b <c>""#), ("{{ data.tags[9] }}", "null"), ("{{ data.items[0].sku }}", #""x""#),
            ("{{ data['tags'] }}", #"["a", "b <c>"]"#), ("{{ data.user.name }}", #""Zoë \"Z\"""#),
            ("{{ data.user.plan ?? data.nothing ?? 'free' }}", #""free""#), ("{{ data.nothing ?? 7.0 }}", "7.0"),
            ("{{ data.nothing ?? false }}", "false"), ("{{ data.id ?? 1 }}", "8202522731445525542"),
            ("{{ '{{' }}", #""{{""#), ("{{ 'it is' }}", #""it is""#),
        ])
    func values(_ placeholder: String, _ expected: String) throws {
        #expect(try rendered(quoted(placeholder)) == expected)
    }

    @Test(
        "in other text a value becomes text",
        arguments: [
            ("{{ data.user.name }} paid {{ data.amount }} €", #"Zoë "Z" paid 12.50 €"#),
            ("a {{ data.nothing }} b", "a  b"),
            (" {{ data.tags }}", #" ["a", "b <c>"]"#), ("{{ data.user.plan }}.", "."),
            ("{ {{ type }} }", "{ order.paid }"),
            ("{{ type | upper }}!", "ORDER.PAID!"), ("{{ data.tags | join ', ' }}.", "a, b <c>."),
            ("{{ data.tags | join ', ' | escape slack }}.", "a, b &lt;c&gt;."),
            ("{{ data.url | escape url }}.", "a%2Fb%3Fc."),
            ("{{ data.user.name | escape html }}.", "Zoë &quot;Z&quot;."), ("{{ type | truncate 5 }}.", "orde…."),
            ("{{ type | truncate 10 }}.", "order.paid."), ("{{ data.at | unix }}.", "1767319445."),
            ("{{ data.ts | iso }}.", "2026-01-02T02:04:05.000Z."),
            ("{{ data.at | iso }}.", "2026-01-02T02:04:05.000Z."),
            ("{{ time | unix }}.", "1760000000."), ("{{ data.user.name | json }}.", #""Zoë \"Z\""."#),
            ("{{ data.nothing | json }}.", "null."), ("{{ data.nothing | upper }}.", "."),
            ("{{ data.user | unix }}.", "."),
            ("{{ data.user.name | lower | truncate 3 }}.", "zo…."), ("{{ data.empty | join ',' }}.", "."),
        ])
    func texts(_ template: String, _ expected: String) throws {
        let result = try JSONDocument(parsing: rendered(quoted(template)))
        #expect(result.root.string == expected)
    }

    @Test("objects and arrays keep their order, and what has no placeholder stays as written")
    func structure() throws {
        #expect(
            try rendered(#"{"b": [1, "x", {"n": 1.50}], "a": "{{ data.id }}", "$schema": "s", "t": "{{type}}!"}"#)
                == #"{"b":[1,"x",{"n":1.50}],"a":8202522731445525542,"$schema":"s","t":"order.paid!"}"#)
        #expect(try rendered(#"{"text": "no placeholder"}"#) == #"{"text":"no placeholder"}"#)
        #expect(try rendered("12") == "12")
    }

    @Test("a value can add nothing but itself")
    func injection() throws {
        let evil = #"{"x": "\", \"admin\": true, \"y\": \"{{ id }}", "y": "}}"}"#
        let result = try JSONDocument(
            parsing: rendered(
                #"{"a": "{{ data.x }}", "b": "<{{ data.x }}>", "c": "{{ data.y }}{{ data.y }}"}"#, Self.event(evil)))
        #expect(result.root.count == 3)
        #expect(result["a"]?.string == #"", "admin": true, "y": "{{ id }}"#)
        #expect(result["b"]?.string == #"<", "admin": true, "y": "{{ id }}>"#)
        #expect(result["c"]?.string == "}}}}")
    }

    // MARK: Directives

    @Test(
        "directives",
        arguments: [
            (
                #"{"$if": {"data": {"amount": [{"numeric": [">", 10]}]}}, "then": "{{ type }}", "else": 2}"#,
                #""order.paid""#
            ),
            (#"{"$if": {"type": ["other"]}, "then": 1, "else": {"a": "{{ id }}"}}"#, #"{"a":"evt_1"}"#),
            (#"{"$if": {"type": ["other"]}, "then": 1}"#, "null"),
            (#"{"$each": "data.items", "do": {"sku": "{{ item.sku }}"}}"#, #"[{"sku":"x"},{"sku":"y"}]"#),
            (
                #"{"$each": "data.items", "as": "i", "do": "{{ i.n }} of {{ type }}"}"#,
                #"["1 of order.paid","2 of order.paid"]"#
            ),
            (
                #"{"$each": "data.items", "as": "i", "do": {"$each": "data.tags", "as": "t", "do": "{{ i.sku }}{{ t }}"}}"#,
                #"[["xa","xb <c>"],["ya","yb <c>"]]"#
            ),
            (#"{"$each": "data.nothing", "do": 1}"#, "[]"), (#"{"$each": "data.empty", "do": 1}"#, "[]"),
            (#"{"$pick": "data.user", "only": ["plan", "odd name", "x"]}"#, #"{"plan":null,"odd name":true}"#),
            (#"{"$omit": "data.user", "fields": ["name", "x"]}"#, #"{"plan":null,"odd name":true}"#),
            (#"{"$pick": "data.tags", "only": ["a"]}"#, "null"),
            (
                #"{"$merge": [{"a": 1, "b": 2}, {"$pick": "data.items[0]", "only": ["n"]}, {"b": "{{ id }}", "c": 3}, null]}"#,
                #"{"a":1,"b":"evt_1","n":1,"c":3}"#
            ),
            (
                #"{"$merge": [{"a": 1}, {"$if": {"type": ["x"]}, "then": {"b": 1}}, "{{ data.items[1] }}"]}"#,
                #"{"a":1,"sku":"y","n":2}"#
            ),
        ])
    func directives(_ template: String, _ expected: String) throws {
        #expect(try rendered(template) == expected)
    }

    // MARK: Errors

    @Test("all errors of a template are found at once, each with its pointer")
    func allErrors() throws {
        let found = try errors(
            """
            {"a": "{{ data.x", "b/c": ["{{ user.name }}", "{{ data.x | shout }}", "{{}}"], "{{ id }}": 1, "d": {"$loop": 1},
             "e": {"$if": {"data": {"x": 1}}, "then": "{{ attempt }}", "other": 1}, "f": {"$each": 7},
             "g": {"$each": "data.x", "as": "data", "do": 1}, "h": {"x": 1, "$merge": []}, "i": {"$merge": []},
             "j": {"$pick": "data", "only": []}, "k": {"$omit": "data.x | upper", "fields": ["a"]}, "l": {"$merge": [1]},
             "m": "{{ type.x }}", "n": "{{ data.x | truncate }}", "o": "{{ data..x }}", "p": "{{ data['x }}", "q": "{{ data[x] }}"}
            """)
        #expect(
            found.map(\.pointer) == [
                "/body/a", "/body/b~1c/0", "/body/b~1c/1", "/body/b~1c/2", "/body/{{ id }}", "/body/d/$loop",
                "/body/e/other", "/body/e/$if/data/x", "/body/e/then", "/body/f/do", "/body/f/$each", "/body/g/as",
                "/body/h/$merge", "/body/i/$merge", "/body/j/only", "/body/k/$omit", "/body/l/$merge/0", "/body/m",
                "/body/n", "/body/o", "/body/p", "/body/q",
            ])
    }

    @Test("a template has limits of bytes, depth and nodes")
    func limits() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + "\"{{ id }}\"" + String(repeating: "]", count: depth)
        }
        #expect(try errors(nested(16)).isEmpty)
        #expect(try errors(nested(17)).count == 1)
        let nodes = Array(repeating: "1", count: 499).joined(separator: ",")
        #expect(try errors("[\(nodes)]").isEmpty)
        #expect(try errors("[\(nodes),1]").map(\.pointer) == ["/body"])
        #expect(try errors("[\"\(String(repeating: "x", count: 16_380))\"]").isEmpty)
        #expect(try errors("[\"\(String(repeating: "x", count: 16_381))\"]").map(\.pointer) == ["/body"])
    }

    @Test("what takes too much work, or makes too much, fails with the pointer")
    func failures() throws {
        let many = "[" + Array(repeating: "1", count: 101).joined(separator: ",") + "]"
        #expect(
            try failure(#"{"x": {"$each": "data", "do": 1}}"#, Self.event(many))?.text
                == "/body/x/$each repeats at most 100 elements, but data has 101")
        #expect(
            try failure(#"{"x": {"$each": "data.user", "do": 1}}"#)?.text
                == "/body/x/$each needs an array, but data.user is none")
        #expect(
            try failure(#"{"$merge": ["{{ data.id }}"]}"#)?.text
                == "/body/$merge/0 makes neither an object nor null, so it can't be merged")
        let large = Self.event("\"" + String(repeating: "x", count: 140_000) + "\"")
        #expect(
            try failure(#"["{{ data }}", "{{ data }}"]"#, large)?.text == "/body/1 makes more than 262144 bytes")
        // Of a larger text a part may be shown, and the error of a whole one says what is too much.
        let huge = Self.event("\"" + String(repeating: "é", count: 600_000) + "\"")
        #expect(
            try failure(#"["{{ data | json }}"]"#, huge)?.text == "/body/0 makes more than 262144 bytes")
        #expect(try rendered(#""{{ data | json | truncate 4 }}""#, huge) == #""\"éé…""#)
        let special = Self.event("\"" + String(repeating: "<", count: 60_000) + "\"")
        #expect(try failure(#""{{ data | escape slack | truncate 9 }}""#, special) == nil)
        let twice = #"["{{ data | escape slack | truncate 9 }}", "{{ data | escape html | truncate 9 }}"]"#
        #expect(try failure(twice, special)?.text == "/body/1 takes more than 100000 steps")
        let hundred = Self.event("[" + Array(repeating: "1", count: 100).joined(separator: ",") + "]")
        let loops =
            #"{"$each": "data", "as": "a", "do": {"$each": "data", "as": "b", "do": {"$each": "data", "as": "c", "do": 1}}}"#
        #expect(try failure(loops, hundred)?.detail == "takes more than 100000 steps")
        let values = Array(repeating: "null", count: 1_000).joined(separator: " ?? ")
        let alternatives =
            #"{"$each": "data", "as": "a", "do": {"$each": "data", "as": "b", "do": "{{ \#(values) }}"}}"#
        #expect(try failure(alternatives, hundred)?.detail == "takes more than 100000 steps")
        let escapes = String(repeating: #"\u0061"#, count: 240)
        let names = Self.event("{" + (0..<200).map { #""\#(escapes)\#($0)":1"# }.joined(separator: ",") + "}")
        let picks = Array(repeating: #"{"$pick": "data", "only": ["x"]}"#, count: 5).joined(separator: ",")
        #expect(try failure("[\(picks)]", names)?.detail == "takes more than 100000 steps")
    }

    @Test("names of members are compared by their bytes: two Unicode forms of a name are two names")
    func exactNames() throws {
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        let event = Self.event(#"{"a": {"\#(composed)": 1}, "b": {"\#(decomposed)": 2}}"#)
        let merged = try rendered(#"{"$merge": ["{{ data.a }}", "{{ data.b }}"]}"#, event)
        #expect(merged.utf8.elementsEqual(#"{"\#(composed)":1,"\#(decomposed)":2}"#.utf8), "\(merged)")
        let picked = try rendered(#"{"$pick": "data.a", "only": ["\#(decomposed)"]}"#, event)
        #expect(picked == "{}")
    }

    // MARK: Texts

    private func text(
        _ text: String, _ use: TextTemplate.Use, _ event: Event = TemplateTests.event(), attempt: Int? = 2
    ) throws -> String {
        var budget = WorkBudget(steps: TemplateLimits.steps)
        return try TextTemplate(text, for: use, at: "/t").render(roots(event, attempt: attempt), &budget)
    }

    @Test("headers, paths and values of queries")
    func uses() throws {
        #expect(try text("Attempt {{ attempt }} of {{ type }} ", .header) == "Attempt 2 of order.paid")
        #expect(try text("/v1/{{ data.url }}/{{ subject }}", .path) == "/v1/a%2Fb%3Fc/order%3A7")
        #expect(try text("a b/{{ data.url }}", .query) == "a%20b%2Fa%2Fb%3Fc")
        #expect(try text("/x;v=1/%20/", .path) == "/x;v=1/%20/")
    }

    @Test("an invalid header or path is never made")
    func invalidTexts() throws {
        func fails(_ template: String, _ use: TextTemplate.Use, _ data: String) -> Bool {
            (try? text(template, use, Self.event(data))) == nil
        }
        for value in [#""é""#, #""a\nb""#, #""a\r\nX: y""#, "\"" + String(repeating: "x", count: 5000) + "\""] {
            #expect(fails("x{{ data }}", .header, value), "\(value)")
        }
        for value in [#""""#, "null", #"".""#, #""..""#] { #expect(fails("/a/{{ data }}/b", .path, value), "\(value)") }
        #expect(fails("/a/{{ data.x }}{{ data.x }}", .path, #"{"x": "."}"#))
        #expect(fails("/a/%2E{{ data }}", .path, #"".""#))
        #expect(try text("/a/{{ data }}", .path, Self.event(#""%2e%2e""#)) == "/a/%252e%252e")
        for path in [
            "a", "", "//a", "/a//b", "/../a", "/a/.", "/%2e%2E/a", "/a?b", "/a#b", "/é", "/a%2", "/a b", "{{ id }}",
        ] {
            #expect(throws: FieldError.self, "\(path)") { try TextTemplate(path, for: .path, at: "/t") }
        }
        #expect(throws: FieldError.self) { try TextTemplate("/{{ attempt }}", for: .path, at: "/t") }
        #expect(throws: FieldError.self) { try TextTemplate("é", for: .header, at: "/t") }
    }
}
