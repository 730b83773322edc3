import Foundation
import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldTestSupport
import HeraldWebhooks
import Testing

@testable import HeraldAPI
@testable import HeraldCLI

@Suite("openapi.yaml says what the server does", .timeLimit(.minutes(20)))
struct SpecificationTests {
    private let specification: JSONDocument

    init() throws { specification = try Repository.specification() }

    @Test("the operations equal the routes, in both directions")
    func routes() throws {
        let hub = try Hub.inMemory()
        let served = Set(try HeraldService(hub: hub).table.routes.map { "\($0.method.rawValue) \($0.template)" })
        hub.stop(grace: 0)

        var described: Set<String> = []
        for (path, item) in try #require(specification["paths"]).members {
            for (method, _) in item.members where method != "parameters" {
                described.insert("\(method.uppercased()) \(path)")
            }
        }
        #expect(described.subtracting(served) == [], "described, but not served")
        #expect(served.subtracting(described) == [], "served, but not described")
    }

    @Test("the scopes of operations equal those of the routes")
    func scopes() throws {
        let hub = try Hub.inMemory()
        defer { hub.stop(grace: 0) }
        for route in try HeraldService(hub: hub).table.routes {
            let method = route.method.rawValue.lowercased()
            let operation = try #require(specification["paths"]?[route.template]?[method])
            let place: Comment = "\(method) \(route.template)"
            let security = try #require(operation["security"], place)
            let schemes = security.elements.flatMap { $0.members.map(\.key) }
            #expect(Array(schemes) == (route.needs == nil ? [] : ["key", "session"]), place)
            #expect(operation["x-scope"]?.string == route.needs?.rawValue, place)
            #expect((operation["responses"]?["401"] != nil) || route.needs == nil, place)
            #expect((operation["responses"]?["403"] != nil) || route.needs == nil, place)
        }
        let listed = try #require(specification["components"]?["schemas"]?["Scope"]?["enum"])
        #expect(listed.elements.compactMap(\.string) == Scope.allCases.map(\.rawValue))
    }

    @Test("every operation has a unique name, a tag, an example, and its error responses")
    func operations() throws {
        var names: Set<String> = []
        for (path, item) in try #require(specification["paths"]).members {
            for (method, operation) in item.members where method != "parameters" {
                let place: Comment = "\(method) \(path)"
                let name = try #require(operation["operationId"]?.string, place)
                #expect(names.insert(name).inserted, place)
                #expect(operation["tags"]?.count == 1, place)
                #expect(operation["summary"]?.string?.isEmpty == false, place)
                let responses = try #require(operation["responses"], place)
                #expect(responses["503"] != nil && responses["default"] != nil, place)
                for (_, type) in operation["requestBody"]?["content"]?.members ?? responses.members {
                    if let content = type["content"] {
                        #expect(content.members.allSatisfy { $0.value["examples"] != nil }, place)
                    }
                }
            }
        }
    }

    @Test("every example of a publication is accepted")
    func events() throws {
        let hub = try Hub.inMemory()
        defer { hub.stop(grace: 0) }
        // Some are published later, on a day after this one.
        let now: Int64 = 1_795_219_200_000
        let context = EventInput.Context(app: .default, now: now, ids: ULIDGenerator())
        let examples = try examples(of: "/v1/events", "post")
        #expect(!examples.isEmpty)
        for (name, example) in examples {
            let first = example.kind == .array ? example.elements.first { _ in true } : example
            let form: CloudEventInput.Form? =
                first?["specversion"] == nil ? nil : example.kind == .array ? .batch : .structured
            #expect(throws: Never.self, "\(name)") {
                _ = try PostInput(example, as: form, context, SchemaChecks(hub, WorkPool()))
            }
        }
    }

    @Test("every example of a registration or a change of a delegate is accepted")
    func delegates() throws {
        let check = WebhookRules { CallbackRules(AddressGuard()).problems(of: &$0) }
        #expect(try !examples(of: "/v1/delegates", "post").isEmpty)
        try accepts("/v1/delegates", "post", fields: DelegateInput.fields) {
            _ = try DelegateInput.registration($0, check)
        }
        try accepts("/v1/delegates/{id}", "patch", fields: DelegateInput.patchFields) {
            _ = try DelegateInput.patch($0, check)
        }
    }

    @Test("every example of an action or an event type is accepted")
    func actions() throws {
        try accepts("/v1/delegates/{id}/secret/rotate", "post") { _ = try SecretRotation($0) }
        try accepts("/v1/delegates/{id}/replay", "post") { _ = try ReplayInput($0) }
        try accepts("/v1/apps", "post") { _ = try AppInput.new($0) }
        try accepts("/v1/apps/{id}", "patch") { _ = try AppInput.patch($0) }
        let hub = try Hub.inMemory()
        defer { hub.stop(grace: 0) }
        let text = try KeyText(id: ULIDGenerator().next("key_", time: 0))
        try accepts("/v1/keys", "post") {
            _ = try KeyInput.read($0, app: .default, hub.committed.apps, hub.committed.registry, text, now: 0)
        }
        try accepts("/v1/keys/{id}/rotate", "post") { _ = try KeyInput.overlap($0) }
        try accepts("/v1/event-types/{type}", "put", fields: EventTypeInput.fields) {
            var budget = WorkBudget()
            _ = try EventTypeInput.read($0, of: "order.paid", within: &budget)
        }
    }

    /// Reads every example of an operation, which must throw nothing.
    /// - Parameter fields: all members that an example may have; `nil` for any.
    private func accepts(
        _ path: String, _ method: String, fields: [String]? = nil, _ read: (JSONDocument) throws -> Void
    ) throws {
        for (name, example) in try examples(of: path, method) {
            let document = try JSONDocument(parsing: example.bytes)
            #expect(throws: Never.self, "\(name)") { try read(document) }
            if let fields { #expect(example.members.allSatisfy { fields.contains($0.key) }, "\(name)") }
        }
    }

    @Test("the enum values of a field equal those of the code")
    func words() throws {
        let schemas = try #require(specification["components"]?["schemas"])
        func listed(_ schema: JSONValue?) -> [String] { schema?["enum"]?.elements.compactMap(\.string) ?? [] }
        #expect(listed(schemas["CallbackFormat"]) == WebhookSettings.Format.allCases.map(\.rawValue))
        #expect(listed(schemas["Ordering"]) == WebhookSettings.Ordering.allCases.map(\.rawValue))
        #expect(listed(schemas["Verification"]) == WebhookSettings.Verification.allCases.map(\.rawValue))
        #expect(listed(schemas["HTTPVersion"]) == WebhookSettings.HTTPVersion.allCases.map(\.rawValue))
        #expect(listed(schemas["Signature"]) == SigningSecret.Scheme.allCases.map(\.rawValue))
        #expect(listed(schemas["DelegateStatus"]) == WebhookStatus.allCases.map(\.rawValue))
        #expect(listed(schemas["DeliveryState"]) == DeliveryState.allCases.map(\.rawValue))
        #expect(listed(schemas["AttemptError"]) == CallbackFailure.allCases.filter { $0 != .stopped }.map(\.rawValue))
        #expect(listed(schemas["Check"]) == EventTypeRecord.Check.allCases.map(\.rawValue))
    }

    @Test("the fields of a delegate equal those that the server reads")
    func fields() throws {
        let schemas = try #require(specification["components"]?["schemas"])
        let settings = try #require(schemas["DelegateSettings"]?["properties"]).members.map(\.key)
        let registration = try #require(schemas["DelegateRegistration"]?["allOf"]).elements.flatMap {
            $0["properties"]?.members.map(\.key) ?? []
        }
        #expect(Set(settings + registration) == Set(DelegateInput.fields))
        let patch = try #require(schemas["DelegatePatch"]?["properties"]).members.map(\.key)
        #expect(Set(patch) == Set(DelegateInput.patchFields))
    }

    @Test("the description has the limits and the default of each setting of a delegate, and the form has each setting")
    func settings() throws {
        let schemas = try #require(specification["components"]?["schemas"])
        let settings = try #require(schemas["DelegateSettings"]?["properties"])
        let registered = try #require(schemas["DelegateRegistration"]?["allOf"]).elements.compactMap {
            $0["properties"]
        }
        func described(_ name: String) -> JSONValue? { ([settings] + registered).compactMap { $0[name] }.first }
        let patched = try #require(schemas["DelegatePatch"]?["properties"])
        for field in WebhookField.all {
            if case .special = field.kind { continue }
            for schema in [described(field.name), patched[field.name]] {
                let schema = try #require(schema, "\(field.name)")
                switch field.kind {
                case .integer(_, let range), .optionalInteger(_, let range):
                    #expect(schema["minimum"]?.integer == Int64(range.lowerBound), "\(field.name)")
                    #expect(schema["maximum"]?.integer == Int64(range.upperBound), "\(field.name)")
                case .optionalNumber(_, let range):
                    #expect(schema["minimum"]?.double == range.lowerBound, "\(field.name)")
                    #expect(schema["maximum"]?.double == range.upperBound, "\(field.name)")
                case .text(_, let max): #expect(schema["maxLength"]?.integer == Int64(max), "\(field.name)")
                case .choice, .special: break
                }
            }
            if case .integer(let access, _) = field.kind {
                #expect(
                    described(field.name)?["default"]?.integer
                        == Int64(access.get(WebhookField.defaults)))
            }
        }
        let form = try Repository.text("Sources/HeraldAPI/Dashboard/Pages/fields.js")
        let inputs = form.matches(of: #/\{ name: "(\w+)"/#).map { String($0.1) }
        // TLS settings and secrets have forms of their own. The form registers webhooks.
        #expect(Set(inputs) == Set(DelegateInput.fields).subtracting(["tls", "secret", "kind"]))
    }

    @Test("the problems equal those of the code")
    func problems() throws {
        let problem = try #require(specification["components"]?["schemas"]?["Problem"])
        let listed = try #require(problem["properties"]?["type"]?["x-extensible-enum"]).elements.compactMap(\.string)
        #expect(listed == listed.sorted())
        // Where a name stands in the code: as an argument, in the call for a 503, in the list by status, and in the
        // answer of the gate, which is there before the service is.
        let inService = try names(
            "Sources/HeraldAPI/Server/Problem.swift",
            [#/name: "([a-z-]+)"/#, #/unavailable\(\s*"([a-z-]+)"/#, #/[:?] \("([a-z-]+)", "/#])
        // No request is cancelled: it is a problem in the process only.
        let inHub = ProblemName.allCases.filter { $0 != .cancelled }.map(\.rawValue)
        #expect(Set(inService).isDisjoint(with: inHub))
        let inStartup = try names("Sources/HeraldCLI/Serve/StartupHandler.swift", [#/problems\/([a-z-]+)/#])
        #expect(Set(listed) == Set((inService + inHub + inStartup).map { "/problems/" + $0 }))
        #expect(Set(listed) == Set(ProblemPage.sections.keys.map { "/problems/" + $0 }))
        for (name, text) in ProblemPage.sections {
            #expect(text.contains(#/^[1-5][0-9]{2}: .+\.\n$/#.dotMatchesNewlines()), "\(name)")
        }
    }

    @Test("a portal in German has words for each problem, failure, status, state and reason")
    func german() throws {
        let table = try Repository.text("Sources/HeraldAPI/Dashboard/Pages/german.js")
        let schemas = try #require(specification["components"]?["schemas"])
        let problems = try #require(schemas["Problem"]?["properties"]?["type"]?["x-extensible-enum"]).elements
        let keys = problems.compactMap { $0.string.map { "problem " + $0.dropFirst("/problems/".utf8.count) } }
        let failures = CallbackFailure.allCases.filter { $0 != .stopped }.map(\.rawValue)
        let statuses = try #require(schemas["DelegateStatus"]?["enum"]).elements.compactMap(\.string)
        let states = ["pending", "retrying", "delivered", "exhausted", "dropped"]
        #expect(keys.count > 30 && statuses.count > 4)
        for key in keys + (failures + statuses + states).map({ $0.replacing("_", with: " ") }) {
            #expect(table.contains("\"\(key)\": \""), "\(key)")
        }
        for sentence in Reason.allCases.map(\.rawValue) {
            let entries = table.split(separator: "\n  \"\(sentence)\": \"")
            #expect(entries.count == 2, "\(sentence)")
            let words = entries.last?.prefix { $0 != "\"" } ?? ""
            #expect(
                words.split(separator: "{}", omittingEmptySubsequences: false).count
                    == sentence.split(separator: "{}", omittingEmptySubsequences: false).count, "\(sentence)")
        }
    }

    private func names(_ file: String, _ patterns: [Regex<(Substring, Substring)>]) throws -> [String] {
        let text = try Repository.text(file)
        return patterns.flatMap { text.matches(of: $0).map { String($0.1) } }
    }

    /// The examples of an operation's body, as JSON.
    private func examples(of path: String, _ method: String) throws -> [(name: String, value: JSONValue)] {
        let body = try #require(specification["paths"]?[path]?[method]?["requestBody"])
        var examples: [(String, JSONValue)] = []
        for (_, content) in try #require(body["content"]).members {
            for (name, example) in try #require(content["examples"]).members {
                examples.append((name, try #require(example["value"])))
            }
        }
        return examples
    }
}
