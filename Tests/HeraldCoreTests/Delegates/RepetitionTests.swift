import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Several delegates with one URL")
struct RepetitionTests {
    private static let url = "https://receiver.example/"

    private static func settings(
        _ events: String..., subjects: [String] = [], filter: String? = nil,
        change: (inout WebhookSettings) -> Void = { _ in }
    ) throws -> WebhookSettings {
        let parsed = try filter.map { try ContentFilter(json: $0) }
        return .made(url) {
            $0.events = events.map(EventPattern.init(unchecked:))
            $0.subjects = subjects
            $0.filter = parsed
            change(&$0)
        }
    }

    @Test("patterns overlap if some type matches both")
    func patterns() {
        for (first, second, wanted) in [
            ("*", "*", true), ("*", "a.b", true), ("*", "a.*", true), ("*", "herald.*", false),
            ("*", "herald.delegate.disabled", false), ("a.*", "a.b", true), ("a.*", "a.b.*", true),
            ("a.*", "ab.*", false),
            ("a.*", "a", false), ("a.b", "a.b", true), ("a.b", "a.c", false), ("herald.*", "herald.delegate.*", true),
        ] {
            let patterns = [first, second].map(EventPattern.init(unchecked:))
            #expect(patterns[0].overlaps(patterns[1]) == wanted, "\(first) \(second)")
            #expect(patterns[1].overlaps(patterns[0]) == wanted, "\(second) \(first)")
        }
    }

    @Test("two webhooks are a repetition if some event would be sent twice in the same request")
    func repetitions() throws {
        let plain = try Self.settings("order.*", "user.joined")
        let repetitions = [
            try Self.settings("order.paid"), try Self.settings("*"), try Self.settings("a.b", "user.*"),
            try Self.settings("order.*", subjects: ["user:1"]),
            try Self.settings("*", filter: #"{"data": {"a": [1]}}"#),
            try Self.settings("*") { ($0.rateLimit, $0.ordering, $0.description) = (1, .strict, "another") },
        ]
        let others = [
            try Self.settings("order", "user.left"), try Self.settings("*") { $0.format = .cloudevents },
            try Self.settings("*") { $0.headers = [KeyValue("X-A", "1")] }, try Self.settings("*") { $0.url += "2" },
        ]
        for (second, wanted) in repetitions.map({ ($0, true) }) + others.map({ ($0, false) }) {
            #expect(plain.repeats(second) == wanted && second.repeats(plain) == wanted, "\(second)")
        }
        let users = try Self.settings("*", subjects: ["user:1", "order:*"], filter: #"{"data": {"a": [1]}}"#)
        #expect(!users.repeats(try Self.settings("*", filter: #"{"data": {"a": [2]}}"#)))
        #expect(!users.repeats(try Self.settings("*", subjects: ["user:2"])))
        #expect(users.repeats(try Self.settings("*", subjects: ["user:2", "order:*"])))
    }

    @Test("subjects are compared by their bytes, also those of a change")
    func subjects() async throws {
        // Swift takes these two texts for equal.
        let places = ["caf\u{e9}", "cafe\u{301}"]
        let bench = try HubBench()
        var ids: [String] = []
        for place in places {
            let registration = RegistryWrite.Registration(
                settings: try Self.settings("*", subjects: [place]), secret: .test)
            guard case .done(.registered(let made)) = await bench.change(.register(registration))
            else { throw Unexpected("not registered") }
            ids.append(made.id)
        }
        _ = await bench.change(.remove(id: ids[1], ifVersion: nil))
        let outcome = await bench.change(
            .update(id: ids[0], ifVersion: nil) { state, _ in state.settings.subjects = [places[1]] })
        guard case .done(.updated(let changed)) = outcome else { throw Unexpected("\(outcome)") }
        let selected = changed.selection.subjectSelection
        #expect(selected.contains(places[1]) && !selected.contains(places[0]))
        // The second text has twice as many characters as the first, and too many.
        for (letter, isValid) in [("\u{e9}", true), ("e\u{301}", false)] {
            let subject = String(repeating: letter, count: 200)
            let outcome = await bench.change(
                .update(id: ids[0], ifVersion: nil) { state, _ in state.settings.subjects = [subject] })
            var isUpdated = false
            if case .done(.updated) = outcome { isUpdated = true }
            #expect(isUpdated == isValid, "\(outcome)")
        }
        await bench.stop()
    }

    @Test("an app has at most 1,000 pull delegates, and the refusal says which bound it is")
    func manyPulls() throws {
        func outcome(beside count: Int) -> RegistryWrite.Outcome {
            let registry = Registry(
                (1...count).map { number in
                    WebhookDelegate(DelegateKey(number), url: "") {
                        $0.kind = .pull
                        $0.events = [.exact("type.\(number)")]
                    }
                })
            let settings = WebhookSettings.made("") { $0.kind = .pull }
            let write = RegistryWrite(action: .register(.init(settings: settings, secret: .test))) { _ in }
            return registry.decide(write, .init(key: 2_000, start: 0, time: 0) { "dlg_new" }).0
        }
        guard case .registered = outcome(beside: 999) else { throw Unexpected("number 1,000 was not registered") }
        let error = #expect(throws: HubError.self) { _ = try outcome(beside: 1_000).webhooks("") }
        guard case .tooMany("An app may have 1000 pull delegates. Remove some first.") = error
        else { throw Unexpected("\(String(describing: error))") }
    }

    @Test("a URL has at most 100, `set` changes the one that is meant, and a removed one is forgotten")
    func many() async throws {
        let bench = try HubBench()
        func register(_ settings: WebhookSettings, replaces: Bool = false) async -> RegistryWrite.Outcome? {
            var registration = RegistryWrite.Registration(settings: settings, secret: .test)
            registration.replacesSettings = replaces
            guard case .done(let outcome) = await bench.change(.register(registration)) else { return nil }
            return outcome
        }
        var ids: [String] = []
        for number in 1...100 {
            guard case .registered(let made) = await register(try Self.settings("type.\(number)"))
            else { throw Unexpected("\(number) was not registered") }
            ids.append(made.id)
        }
        guard case .tooManyOfURL(100) = await register(try Self.settings("another"))
        else { throw Unexpected("more than 100") }
        guard case .conflict(let other) = await register(try Self.settings("another", "type.7"))
        else { throw Unexpected("a repetition") }
        #expect(other.id == ids[6])
        // Of several with the URL, the one that it would repeat.
        guard case .updated(let changed) = await register(try Self.settings("type.8", "more"), replaces: true)
        else { throw Unexpected("not replaced") }
        #expect(changed.id == ids[7] && changed.settings.events.count == 2)
        // Which one is meant is not known.
        guard case .conflict = await register(try Self.settings("another"), replaces: true)
        else { throw Unexpected("replaced") }
        let widened = await bench.change(
            .update(id: ids[0], ifVersion: nil) { state, _ in state.settings.events.append(.exact("type.2")) })
        guard case .done(.conflict(let second)) = widened else { throw Unexpected("\(widened)") }
        #expect(second.id == ids[1])
        for id in ids.dropFirst() { _ = await bench.change(.remove(id: id, ifVersion: nil)) }
        let registry = bench.hub.committed.registry
        #expect(registry.delegates(.default, url: Self.url).map(\.id) == [ids[0]])
        // The only one is the one with the URL, whatever it gets.
        guard case .updated(let only) = await register(try Self.settings("another"), replaces: true)
        else { throw Unexpected("not replaced") }
        #expect(only.id == ids[0])
        _ = await bench.change(.remove(id: ids[0], ifVersion: nil))
        #expect(registry.delegates(.default, url: Self.url).isEmpty)
        await bench.stop()
    }
}
