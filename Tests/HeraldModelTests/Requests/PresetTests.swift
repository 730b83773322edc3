import Foundation
import HeraldJSON
import HeraldModel
import HeraldTestSupport
import Testing

@Suite("Presets of recipes", .timeLimit(.minutes(20)))
struct PresetTests {
    private static let event = Event(
        "order.paid", id: "evt_01M7X2", subject: "order:1001", time: 1_790_000_000_000,
        attributes: [KeyValue("source", "/shop")],
        data: #"{"amount": 12.50, "user": {"name": "Zoë <zoe@example.com>"}}"#)

    /// Everything as long as it may be.
    private static let worst = Event(
        String(repeating: "a", count: 128), id: String(repeating: "i", count: 128),
        subject: String(repeating: "😀", count: 256),
        data: "\"" + String(repeating: "😀&", count: 40_000) + "\"")

    private static let metadata = [
        KeyValue("routing_key", "R0123"), KeyValue("topic_arn", "arn:aws:sns:eu-central-1:1:orders"),
    ]

    private static func roots(_ event: Event) -> TemplateRoots {
        TemplateRoots(EventView(event), delegate: "dlg_1", metadata: metadata)
    }

    private static func body(_ preset: Preset, _ event: Event) throws -> [UInt8]? {
        guard let body = preset.request["body"] else { return nil }
        var budget = WorkBudget(steps: TemplateLimits.steps)
        return try Template(body, at: "/request/body").render(roots(event), &budget)
    }

    /// The body of a preset that has one.
    private static func body(_ name: String, _ event: Event) throws -> [UInt8] {
        try #require(try body(named(name), event))
    }

    private static func named(_ name: String) throws -> Preset { try #require(Preset.named(name)) }

    private static func text(_ preset: Preset, _ name: String, _ event: Event) throws -> String? {
        guard let text = preset.request[name]?.string else { return nil }
        var budget = WorkBudget(steps: TemplateLimits.steps)
        return try TextTemplate(text, for: .path, at: "/request/\(name)").render(roots(event), &budget)
    }

    @Test("there is one for each receiver, and its parts are valid for any event")
    func parts() throws {
        #expect(
            Preset.names == [
                "slack", "teams", "discord", "google_chat", "mattermost", "pagerduty", "github", "stripe", "svix",
                "sqs",
                "sns", "eventbridge", "s3", "cloudflare_queue",
            ])
        let bare = Event("x", id: "e", data: "null")
        for preset in Preset.all {
            for event in [Self.event, Self.worst, bare] {
                if let body = try Self.body(preset, event) { _ = try JSONDocument(parsing: body) }
                _ = try Self.text(preset, "path", event)
            }
            let headers = try preset.request["headers"] ?? JSONDocument(parsing: "{}").root
            for (name, value) in headers.members {
                var budget = WorkBudget(steps: TemplateLimits.steps)
                let template = try TextTemplate(value.string ?? "", for: .header, at: "/request/headers/\(name)")
                #expect(try !template.render(Self.roots(Self.worst), &budget).isEmpty)
            }
            #expect(preset.request["sign"] != nil, "\(preset.name)")
        }
        #expect(Preset.named("slack")?.name == "slack" && Preset.named("none") == nil)
    }

    @Test("each is a recipe that a delegate can have")
    func recipes() throws {
        for preset in Preset.all {
            let isAWS = preset.request["auth"] != nil
            let auth = #", "auth": {"aws": {"region": "eu-central-1", "key_id": "AKID", "secret": "s"}}"#
            let request = try JSONDocument(parsing: "{\"preset\": \"\(preset.name)\"\(isAWS ? auth : "")}")
            var errors: [FieldError] = []
            var recipe: Recipe?
            RecipeInput.merge(request.root, into: &recipe, &errors)
            #expect(errors.isEmpty && recipe.flatMap(RecipePlan.init) != nil, "\(preset.name) \(errors)")
        }
    }

    @Test("the longest event is within the limits that the receivers document")
    func limits() throws {
        func body(_ name: String) throws -> JSONDocument {
            try JSONDocument(parsing: try Self.body(name, Self.worst))
        }
        func units(_ value: JSONValue?) -> Int { value?.string?.utf16.count ?? 0 }
        #expect(units(try body("slack")["text"]) <= 40_000)
        #expect(units(try body("mattermost")["text"]) <= 16_383)
        let embed = try #require(try body("discord")["embeds"]?.elements.first { _ in true })
        #expect(units(embed["title"]) <= 256 && units(embed["author"]?["name"]) <= 256)
        #expect(units(embed["description"]) <= 4_096 && units(embed["footer"]?["text"]) <= 2_048)
        #expect(try Self.body("teams", Self.worst).count <= 28_000)
        #expect(try Self.body("google_chat", Self.worst).count <= 32_000)
        let incident = try body("pagerduty")
        #expect(units(incident["dedup_key"]) <= 255 * 2 && units(incident["payload"]?["summary"]) <= 1_024)
    }

    @Test("values can't mention a user, make a link or end a text")
    func escaping() throws {
        let event = Event(
            "order.paid", id: "evt", subject: "<!channel> <https://evil.example|click>",
            data: #"{"a": "<!here> & </b>"}"#)
        func body(_ name: String) throws -> JSONDocument {
            try JSONDocument(parsing: try Self.body(name, event))
        }
        let slack = try #require(try body("slack")["text"]?.string)
        #expect(!slack.contains("<") && slack.contains("&lt;!channel&gt;") && slack.contains("&amp;"))
        #expect(try body("discord")["allowed_mentions"]?["parse"]?.count == 0)
        let chat = try Self.body("google_chat", event)
        #expect(String(decoding: chat, as: UTF8.self).contains("&lt;!here&gt;"))
    }

    @Test("no value leaves the block of code for Mattermost, in which it notifies no user")
    func block() throws {
        let event = Event(
            "order.paid", id: "evt", subject: "a` @channel\n~~~~~~~\n@all", data: #"{"a": "\n~~~~~~~\n@here"}"#)
        let text = try #require(try JSONDocument(parsing: Self.body("mattermost", event))["text"]?.string)
        let lines = text.split(separator: "\n")
        #expect(lines.first == "**order.paid**" && lines.dropFirst().first == "~~~~~~~json")
        let end = lines.dropFirst(2).firstIndex { $0.hasPrefix("~") }
        #expect(end == lines.count - 1)
    }

    @Test("no value leaves the block of code for Discord, and it stays JSON", arguments: [1, 2_000])
    func fence(count: Int) throws {
        let event = Event("order.paid", id: "evt", data: "\"" + String(repeating: "```[a](b)", count: count) + "\"")
        let embed = try #require(
            try JSONDocument(parsing: Self.body("discord", event))["embeds"]?.elements.first { _ in true })
        let text = try #require(embed["description"]?.string)
        #expect(text.hasPrefix("```json\n\"") && text.hasSuffix("\n```") && text.utf16.count <= 4_096)
        let value = text.dropFirst("```json\n".count).dropLast("\n```".count)
        #expect(!value.contains("`"))
        if count == 1 {
            #expect(try JSONDocument(parsing: Array(value.utf8)).root.string == "```[a](b)")
        }
    }

    @Test("a message for queues is the event as JSON in a text")
    func messages() throws {
        for (name, member) in [("sqs", "MessageBody"), ("sns", "Message")] {
            let body = try JSONDocument(parsing: try Self.body(name, Self.event))
            let message = try JSONDocument(parsing: try #require(body[member]?.string))
            #expect(message["id"]?.string == "evt_01M7X2" && message["subject"]?.string == "order:1001")
            #expect(
                message["data"].map { String(decoding: $0.bytes, as: UTF8.self) }
                    == String(decoding: Self.event.data, as: UTF8.self))
        }
        let buses = try JSONDocument(
            parsing: try Self.body("eventbridge", Self.event))
        let entry = try #require(buses["Entries"]?.elements.first { _ in true })
        #expect(entry["Source"]?.string == "/shop" && entry["Time"]?.integer == 1_790_000_000)
        #expect(try JSONDocument(parsing: try #require(entry["Detail"]?.string))["data"]?["amount"] != nil)
        #expect(try Self.text(Self.named("s3"), "path", Self.event) == "/order.paid/evt_01M7X2.json")
    }

    @Test("slack_sdk accepts the message for Slack", .enabled(if: getenv("HERALD_VENV") != nil))
    func slack() async throws {
        let venv = try #require(getenv("HERALD_VENV").map { String(cString: $0) })
        let script = """
            import json, sys
            from slack_sdk.models.messages.message import Message
            for line in sys.stdin:
                message = Message(**json.loads(line))
                print(message.to_dict()["text"] == json.loads(line)["text"])
            """
        var input: [UInt8] = []
        for event in [Self.event, Self.worst] { input += try Self.body("slack", event) + [10] }
        let result = try await ChildProcess.run(venv + "/bin/python3", ["-W", "ignore", "-c", script], input: input)
        #expect(result.text.split(separator: "\n") == ["True", "True"], "\(result.text)")
    }

    // MARK: The page

    /// With `HERALD_WRITE_PAGES` the test writes the blocks instead of comparing them.
    @Test("the guide shows what each preset makes")
    func page() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Documentation/guide/recipes.md")
        var page = try String(contentsOf: file, encoding: .utf8)
        for preset in Preset.all {
            let heading = "\n### `\(preset.name)`\n"
            let start = try #require(page.range(of: heading), "a section for \(preset.name)")
            let end =
                page.range(of: "\n### ", range: start.upperBound..<page.endIndex)?.lowerBound
                ?? page.range(of: "\n## ", range: start.upperBound..<page.endIndex)?.lowerBound ?? page.endIndex
            guard let body = try Self.body(preset, Self.event) else { continue }
            let block = "```json\n" + Self.indented(try JSONDocument(parsing: body).root, 0) + "\n```\n"
            if getenv("HERALD_WRITE_PAGES") != nil, let old = page.range(of: "```json", range: start.upperBound..<end),
                let close = page.range(of: "\n```\n", range: old.upperBound..<end)
            {
                page.replaceSubrange(old.lowerBound..<close.upperBound, with: block)
            } else {
                #expect(page[start.upperBound..<end].contains(block), "\(preset.name):\n\(block)")
            }
        }
        if getenv("HERALD_WRITE_PAGES") != nil { try page.write(to: file, atomically: true, encoding: .utf8) }
    }

    private static func indented(_ value: JSONValue, _ depth: Int) -> String {
        let line = "\n" + String(repeating: "  ", count: depth + 1)
        let last = "\n" + String(repeating: "  ", count: depth)
        func quoted(_ text: String) -> String {
            var json = JSONWriter()
            json.value(text)
            return String(decoding: json.bytes, as: UTF8.self)
        }
        // An event's own data stays as its publisher has written it.
        if value.bytes.elementsEqual(event.data) { return String(decoding: value.bytes, as: UTF8.self) }
        switch value.kind {
        case .object where value.count > 0:
            return "{"
                + value.members.map { line + quoted($0.key) + ": " + indented($0.value, depth + 1) }
                .joined(separator: ",") + last + "}"
        case .array where value.count > 0:
            return "[" + value.elements.map { line + indented($0, depth + 1) }.joined(separator: ",") + last + "]"
        default: return String(decoding: value.bytes, as: UTF8.self)
        }
    }
}
