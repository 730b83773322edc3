import HeraldCore
import HeraldTestSupport
import Testing

@testable import HeraldModel

@Suite("Selection of events for a delegate")
struct EventSelectionTests {
    private typealias Mismatch = EventSelection.Mismatch

    private static func event(
        _ type: String = "order.paid", subject: String? = "user:1", data: String = #"{"plan":"pro"}"#,
        audience: DelegateKey? = nil
    ) -> Event {
        Event(type, subject: subject, audience: audience, data: data)
    }

    private static func filter(_ json: String) -> ContentFilter? { compileFilter(json).filter }

    /// All questions at once: they must agree.
    private func mismatch(_ selection: EventSelection, _ event: Event) -> Mismatch? {
        let found = selection.mismatch(EventView(event))
        #expect(selection.matches(EventView(event)) == (found == nil))
        #expect(selection.matches(event) { EventView(event) } == (found == nil))
        var steps = 0
        let isWanted = selection.wants(event, &steps)
        #expect(isWanted == (found == nil))
        if found != .type {
            #expect(selection.matches(event, isRouted: true) { EventView(event) } == (found == nil))
        }
        return found
    }

    @Test("without conditions every event of the app matches")
    func everything() {
        #expect(mismatch(EventSelection(), Self.event()) == nil)
        #expect(mismatch(EventSelection(), Self.event(subject: nil)) == nil)
    }

    @Test("an event of another app never matches")
    func app() {
        #expect(mismatch(EventSelection(app: AppKey(rawValue: 2)), Self.event()) == .app)
    }

    @Test("an erased event never matches, even if it is addressed")
    func erased() {
        #expect(mismatch(EventSelection(), Self.event().erased()) == .erased)
        let webhook = WebhookDelegate(5).selection
        #expect(mismatch(webhook, Self.event(audience: 5).erased()) == .erased)
    }

    @Test("an addressed event matches only the delegate that it is addressed to")
    func audience() {
        let addressed = Self.event(audience: 5)
        #expect(mismatch(WebhookDelegate(5).selection, addressed) == nil)
        #expect(mismatch(WebhookDelegate(6).selection, addressed) == .audience)
        #expect(mismatch(EventSelection(), addressed) == .audience)
    }

    @Test("an addressed event must match like any other")
    func addressedMatches() {
        let addressed = Self.event(audience: 5)
        #expect(mismatch(WebhookDelegate(5) { $0.events = [.exact("other")] }.selection, addressed) == .type)
        #expect(mismatch(WebhookDelegate(5) { $0.subjects = ["user:2"] }.selection, addressed) == .subject)
        let free = Self.filter(#"{"data":{"plan":["free"]}}"#)
        #expect(mismatch(WebhookDelegate(5) { $0.filter = free }.selection, addressed) == .filter)
    }

    @Test("one of the patterns must match the type; the service's own events must be named")
    func type() {
        let paid = Self.event()
        for (patterns, matches): ([EventPattern], Bool) in [
            ([.any], true), ([.exact("order.paid")], true), ([.prefix("order.")], true),
            ([.exact("order"), .prefix("order.")], true), ([.exact("order")], false), ([.prefix("ord.")], false),
            ([], false),
        ] {
            #expect(mismatch(EventSelection(events: patterns), paid) == (matches ? nil : .type), "\(patterns)")
            #expect(EventSelection(events: patterns).includes(type: "order.paid") == matches, "\(patterns)")
        }
        let own = Self.event("herald.delegate.gone")
        #expect(mismatch(EventSelection(), own) == .type)
        #expect(mismatch(EventSelection(events: [.any, .prefix("herald.")]), own) == nil)
    }

    @Test("an event matched by the router is checked for all conditions but its type")
    func routed() {
        let selection = EventSelection(events: [.exact("other")], subjects: ["user:1"])
        #expect(selection.matches(Self.event(), isRouted: true) { EventView(Self.event()) })
        let stranger = Self.event(subject: "user:2")
        #expect(!selection.matches(stranger, isRouted: true) { EventView(stranger) })
    }

    @Test("one of the subjects must match; an event without one matches only if subjects are empty")
    func subject() {
        for (subjects, matches, matchesNone): (Set<String>, Bool, Bool) in [
            ([], true, true), (["user:1"], true, false), (["user:2", "user:*"], true, false), (["*"], true, false),
            (["user:2"], false, false), (["user"], false, false),
        ] {
            let selection = EventSelection(subjects: subjects)
            #expect(selection.subjects == subjects)
            #expect(mismatch(selection, Self.event()) == (matches ? nil : .subject), "\(subjects)")
            #expect(mismatch(selection, Self.event(subject: nil)) == (matchesNone ? nil : .subject), "\(subjects)")
        }
        var changed = EventSelection(subjects: ["user:2"])
        changed.subjects.insert("user:1")
        #expect(mismatch(changed, Self.event()) == nil)
    }

    @Test("the filter must match the content, which is examined last")
    func filter() throws {
        let filter = try #require(Self.filter(#"{"data":{"plan":["pro"]}}"#))
        #expect(mismatch(EventSelection(filter: filter), Self.event()) == nil)
        #expect(mismatch(EventSelection(filter: filter), Self.event(data: #"{"plan":"free"}"#)) == .filter)
        var looks = 0
        _ = EventSelection(subjects: ["user:2"], filter: filter).matches(Self.event()) {
            looks += 1
            return EventView(Self.event())
        }
        _ = EventSelection().matches(Self.event()) {
            looks += 1
            return EventView(Self.event())
        }
        #expect(looks == 0)
    }

    @Test("the first condition that fails is named, in the order of the conditions")
    func order() {
        var selection = EventSelection(
            app: AppKey(rawValue: 2), events: [.exact("other")], subjects: ["user:2"],
            filter: Self.filter(#"{"data":{"plan":["free"]}}"#))
        var event = Self.event(audience: 5).erased()
        var found: [Mismatch?] = [mismatch(selection, event)]
        selection.app = .default
        found.append(mismatch(selection, event))
        event = .damaged()
        found.append(mismatch(selection, event))
        event = Self.event(audience: 5)
        found.append(mismatch(selection, event))
        event = Self.event()
        found.append(mismatch(selection, event))
        selection.events = [.any]
        found.append(mismatch(selection, event))
        selection.subjects = []
        found.append(mismatch(selection, event))
        selection.filter = nil
        found.append(mismatch(selection, event))
        #expect(found == Mismatch.allCases + [nil])
    }

    @Test("a webhook's selection follows its settings, its app and its key")
    func webhook() throws {
        let filter = try #require(Self.filter(#"{"data":{"plan":["pro"]}}"#))
        let delegate = WebhookDelegate(5, app: AppKey(rawValue: 2)) {
            $0.events = [.prefix("order.")]
            $0.subjects = ["user:*"]
            $0.filter = filter
        }
        let selection = delegate.selection
        #expect(selection.app == delegate.app && selection.addressee == 5)
        #expect(selection.events == [.prefix("order.")] && selection.subjects == ["user:*"])
        #expect(selection.filter == filter)
        var state = delegate.state
        state.settings.subjects = ["user:2"]
        #expect(delegate.changed(to: state, at: 0).selection.subjects == ["user:2"])
    }

    @Test("a dry run names the condition that fails, also for an erased event")
    func explanation() throws {
        let delegate = WebhookDelegate(5) { $0.filter = Self.filter(#"{"data":{"plan":["pro"]}}"#) }
        func refusal(_ event: Event, _ delegate: WebhookDelegate) -> DeliveryExplanation.Refusal? {
            DeliveryExplanation(delegate, EventView(event)).refusal
        }
        #expect(refusal(Self.event(), delegate) == nil)
        guard case .selection(.erased)? = refusal(Self.event().erased(), delegate)
        else { throw Unexpected("an erased event is told") }
        guard case .filter(let clause)? = refusal(Self.event(data: "{}"), delegate)
        else { throw Unexpected("the clause of the filter is not named") }
        #expect(clause.pointer == "/data/plan")
        guard case .status? = refusal(Self.event(), WebhookDelegate(5, status: .disabled))
        else { throw Unexpected("a disabled delegate is told") }
    }
}
