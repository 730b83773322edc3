import HeraldJSON
import HeraldTestSupport
import Testing

@testable import HeraldModel

@Suite("Headers that a delegate may set")
struct CallbackHeaderRulesTests {
    private func isAllowed(_ name: String, _ value: String = "x") -> Bool {
        CallbackHeaderRules.problem(name: name, value: value) == nil
    }

    @Test("a name is a token of 1 to 64 characters")
    func names() {
        #expect(isAllowed("X") && isAllowed("Authorization") && isAllowed(String(repeating: "x", count: 64)))
        #expect(isAllowed("!#$%&'*+-.^_`|~09azAZ"))
        #expect(!isAllowed("") && !isAllowed(String(repeating: "x", count: 65)))
        for byte in (0...0x7f as ClosedRange<UInt8>) {
            let character = Character(Unicode.Scalar(byte))
            let isToken = character.isLetter || character.isNumber || "!#$%&'*+-.^_`|~".contains(character)
            #expect(isAllowed("X\(character)") == isToken, "\(byte)")
        }
        #expect(!isAllowed("Ü") && !isAllowed("X-\u{212A}"))
    }

    @Test("what the service or HTTP sets is taken, in any case")
    func reserved() {
        for name in CallbackHeaderRules.reserved {
            #expect(!isAllowed(name) && !isAllowed(name.uppercased()), "\(name)")
            #expect(isAllowed("x-" + name) && isAllowed(name + "x"), "\(name)")
        }
        for prefix in CallbackHeaderRules.reservedPrefixes {
            #expect(
                !isAllowed(prefix) && !isAllowed(prefix.uppercased() + "Any") && isAllowed("x-" + prefix), "\(prefix)")
            #expect(isAllowed(String(prefix.dropLast())), "\(prefix)")
        }
    }

    @Test("a value is at most 4,096 visible ASCII characters, spaces and tabs")
    func values() {
        #expect(isAllowed("X", "") && isAllowed("X", String(repeating: "x", count: 4_096)))
        #expect(!isAllowed("X", String(repeating: "x", count: 4_097)))
        for byte in (0...0x7f as ClosedRange<UInt8>) {
            let isText = (0x20...0x7e).contains(byte) || byte == 9
            #expect(isAllowed("X", "a\(Character(Unicode.Scalar(byte)))b") == isText, "\(byte)")
        }
        #expect(!isAllowed("X", "a\r\nX-Evil: b") && !isAllowed("X", "ü"))
    }

    @Test("the headers of a delegate have at most 9,216 bytes together")
    func together() {
        func problems(_ values: Int...) -> [String] {
            var settings = WebhookSettings(url: "http://a.example/")
            settings.headers = values.enumerated().map { KeyValue("X\($0)", String(repeating: "x", count: $1)) }
            return WebhookRules.limitProblems(of: settings).map(\.pointer)
        }
        #expect(problems(4_096, 4_096, 1_018) == [])
        #expect(problems(4_096, 4_096, 1_019) == ["/headers"])
    }

    @Test(
        "a header that the recipe sets too is an error: a request would have it twice",
        arguments: [
            (#"{"auth": {"basic": {"user": "a", "password": "b"}}}"#, ["Authorization"]),
            (
                #"{"auth": {"aws": {"region": "r", "service": "s3", "key_id": "a", "secret": "b"}}}"#,
                ["Authorization", "X-Amz-Date"]
            ),
            (#"{"headers": {"x-KIND": "{{ type }}"}}"#, ["X-Kind"]),
            (#"{"sign": ["github"]}"#, ["X-Hub-Signature-256"]),
            (#"{"sign": ["svix"], "body": "data"}"#, ["Svix-Id"]), (#"{"body": "data"}"#, []),
        ])
    func clashes(request: String, names: [String]) throws {
        var settings = WebhookSettings(url: "http://a.example/")
        settings.headers = ["Authorization", "X-Kind", "X-Hub-Signature-256", "Svix-Id", "X-Amz-Date"]
            .map { KeyValue($0, "x") }
        var errors: [FieldError] = []
        RecipeInput.merge(try JSONDocument(parsing: request).root, into: &settings.request, &errors)
        #expect(errors.isEmpty)
        #expect(WebhookRules.limitProblems(of: settings).map(\.pointer) == names.map { "/headers/" + $0 })
        settings.headers = []
        #expect(WebhookRules.limitProblems(of: settings).isEmpty)
    }
}
