import Glibc
import HeraldJSON
import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldWebhooks

@Suite("Forms of recipes")
struct RecipeFormTests {
    @Test("a form may have more fields than a posted event has values, and names those that are none")
    func fields() throws {
        let many = (1...10_000).map { #""f\#($0)":\#($0)"# }.joined(separator: ",")
        let fields = try FormText.fields(Array("{\(many)}".utf8))
        #expect(fields.count == 10_000 && fields.last?.name == "f10000" && fields.last?.value == "10000")
        let deep = String(repeating: "[", count: 70) + String(repeating: "]", count: 70)
        let failure = #expect(throws: FieldError.self) { try FormText.fields(Array(#"{"a":\#(deep)}"#.utf8)) }
        #expect(failure?.pointer == "/body/a")
    }
}

@Suite("Paths of recipes")
struct RecipePathTests {
    private static let pieces = [
        "/", "//", "..", ".", "%2e", "%2F", "@", ":", "?", "#", "\\", "evil.example", "http://", "[::1]", "\r\n", " ",
        "\t", "é", "😀", "\u{0}", "&", "=", ";", "%", "%%", "%00", "a", "1", "\u{202e}", "..;", "\u{7f}",
    ]

    /// How many values: `HERALD_PATHS=100000` for all that were promised.
    private static let count = getenv("HERALD_PATHS").flatMap { Int(String(cString: $0)) } ?? 10_000

    @Test("no hostile value changes scheme, host, port or the segments around it, as libcurl's parser reads it")
    func hostile() throws {
        var random = SeededRandom(seed: 34)
        let templates = try ["/v1/{{ data }}/end", "/{{ data }}", "/a-{{ data }}.json", "/a/{{ data }}{{ data }}/b"].map
        {
            (text: $0, template: try TextTemplate($0, for: .path, at: "/request/path"))
        }
        let query = try TextTemplate("x{{ data }}", for: .query, at: "/request/query/q")
        let bases = ["https://user.example:8443", "http://10.0.0.1", "https://[2001:db8::1]"]
        let parsed = try bases.map { try CallbackURL($0 + "/") }
        var made = 0
        for round in 0..<Self.count / templates.count {
            let value = (0..<random.number(1...6)).map { _ in Self.pieces[random.number(0...Self.pieces.count - 1)] }
                .joined()
            var json = JSONWriter()
            json.value(value)
            let event = Event("a.b", data: String(decoding: json.bytes, as: UTF8.self))
            let roots = TemplateRoots(EventView(event), delegate: "dlg_1")
            var budget = WorkBudget(steps: TemplateLimits.steps)
            let searched = try query.render(roots, &budget)
            for (text, template) in templates {
                var budget = WorkBudget(steps: TemplateLimits.steps)
                let index = round % bases.count
                guard let path = try? template.render(roots, &budget) else { continue }
                made += 1
                let url = try CallbackURL(bases[index] + path + "?q=" + searched)
                guard url.scheme == parsed[index].scheme, url.host == parsed[index].host,
                    url.port == parsed[index].port,
                    // As it was made: libcurl has removed no segment and read no other query.
                    url.text.hasSuffix(path + "?q=" + searched),
                    path.split(separator: "/").count == text.split(separator: "/").count
                else {
                    Issue.record("\(value.debugDescription) makes \(url.text)")
                    return
                }
            }
        }
        #expect(made > Self.count / 2, "\(made) paths")
    }
}
