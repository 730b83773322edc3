import HeraldJSON
import HeraldTestSupport
import Testing

@testable import HeraldModel

@Suite("Posted events")
struct EventInputTests {
    private func read(_ json: String, at pointer: String = "") -> (draft: EventDraft?, errors: [FieldError]) {
        var errors: [FieldError] = []
        let document = try! JSONDocument(parsing: json)
        let draft = EventInput.read(
            document.root, at: pointer, .init(app: .default, now: 1_760_000_000_000, ids: ULIDGenerator()), &errors)
        return (draft, errors)
    }

    private func pointers(_ json: String, at pointer: String = "") -> [String] {
        let (draft, errors) = read(json, at: pointer)
        #expect(draft == nil)
        #expect(errors.allSatisfy { !$0.detail.isEmpty })
        return errors.map(\.pointer)
    }

    @Test("all fields are stored as published, the data byte for byte")
    func complete() throws {
        let (draft, errors) = read(
            #"{"id": "a-B_1", "type": "order.paid", "subject": "order:7", "time": "2026-01-31T12:00:00.5Z","#
                + #" "data": {"amount" : 1.50, "note":"\u00e9" } }"#)
        #expect(errors.isEmpty)
        let event = try #require(draft).event
        #expect(event.id == "a-B_1" && event.type == "order.paid" && event.subject == "order:7")
        #expect(event.time == 1_769_860_800_500)
        #expect(String(decoding: event.data, as: UTF8.self) == #"{"amount" : 1.50, "note":"\u00e9" }"#)
        #expect(
            String(decoding: event.body, as: UTF8.self)
                == #"{"type":"order.paid","timestamp":"2026-01-31T12:00:00.500Z","data":{"amount" : 1.50, "#
                + #""note":"\u00e9" },"subject":"order:7"}"#)
        #expect(draft?.mayExist == true)
    }

    @Test("only the type is required; the rest has defaults")
    func minimal() throws {
        let (draft, errors) = read(#"{"type": "ping"}"#)
        #expect(errors.isEmpty)
        let event = try #require(draft).event
        #expect(event.id.hasPrefix("evt_") && event.id.utf8.count == 30)
        #expect(event.subject == nil && event.time == 1_760_000_000_000)
        #expect(String(decoding: event.data, as: UTF8.self) == "null")
        #expect(draft?.mayExist == false)
    }

    @Test("all invalid fields are reported at once, with their pointers")
    func allErrors() {
        #expect(
            pointers(#"{"id": "a b", "type": "a..b", "subject": 1, "time": "yesterday", "dta": {}, "x/y~z": 1}"#)
                .sorted()
                == ["/dta", "/id", "/subject", "/time", "/type", "/x~1y~0z"])
        #expect(pointers(#"{"subject": ""}"#, at: "/3").sorted() == ["/3/subject", "/3/type"])
    }

    @Test("a value that is not an object is refused", arguments: ["[]", "1", "null", #""a""#])
    func notAnObject(json: String) {
        #expect(pointers(json, at: "/0") == ["/0"])
    }

    @Test("an invalid type is refused", arguments: ["", ".", "a.", ".a", "a..b", "a b", "a:b", "ä", "herald.test"])
    func wrongType(type: String) {
        #expect(pointers(#"{"type": "\#(type)"}"#) == ["/type"])
    }

    @Test("lengths are counted in characters: type 128, id 128, subject 256")
    func lengths() {
        func json(_ type: Int, _ id: Int, _ subject: Int) -> String {
            let (t, i, s) = (
                String(repeating: "t", count: type), String(repeating: "i", count: id),
                String(repeating: "ü", count: subject)
            )
            return #"{"type": "\#(t)", "id": "\#(i)", "subject": "\#(s)"}"#
        }
        #expect(read(json(128, 128, 256)).errors.isEmpty)
        #expect(pointers(json(129, 129, 257)) == ["/type", "/id", "/subject"])
    }

    // MARK: Auth

    @Test("a login needs a user with an id; the subject defaults to the user")
    func login() throws {
        #expect(pointers(#"{"type": "auth.logged_in"}"#) == ["/data/user"])
        #expect(pointers(#"{"type": "auth.logged_in", "data": 7}"#) == ["/data/user"])
        #expect(pointers(#"{"type": "auth.logged_in", "data": {"user": null}}"#) == ["/data/user"])
        #expect(pointers(#"{"type": "auth.logged_in", "data": {"user": "42"}}"#) == ["/data/user"])
        #expect(pointers(#"{"type": "auth.logged_in", "data": {"user": {}}}"#) == ["/data/user/id"])
        #expect(pointers(#"{"type": "auth.logged_in", "data": {"user": {"id": 1.5}}}"#) == ["/data/user/id"])
        #expect(pointers(#"{"type": "auth.logged_in", "data": {"user": {"id": ""}}}"#) == ["/data/user/id"])
        #expect(pointers(#"{"type": "auth.logged_in", "subject": "user:1", "data": {}}"#) == ["/data/user"])
        let (draft, _) = read(#"{"type": "auth.logged_in", "data": {"user": {"id": 42, "name": "A"}}}"#)
        #expect(draft?.event.subject == "user:42")
        guard case .auth("42", true, let user?, nil)? = draft?.family
        else { throw Unexpected("\(String(describing: draft))") }
        #expect(String(decoding: user, as: UTF8.self) == #"{"id": 42, "name": "A"}"#)
        let own = read(#"{"type": "auth.logged_in", "subject": "tenant:1", "data": {"user": {"id": "x"}}}"#).draft
        #expect(own?.event.subject == "tenant:1")
    }

    @Test("a logout names the user in its data or its subject")
    func logout() throws {
        #expect(pointers(#"{"type": "auth.logged_out"}"#) == ["/data/user/id"])
        #expect(pointers(#"{"type": "auth.logged_out", "subject": "user:"}"#) == ["/data/user/id"])
        // An id of the user has as many bytes everywhere: no request could read the status of a longer one.
        func long(_ bytes: Int) -> String {
            #"{"type": "auth.logged_out", "subject": "\#(String(repeating: "u", count: bytes))"}"#
        }
        #expect(read(long(251)).errors.isEmpty)
        #expect(pointers(long(252)) == ["/data/user/id"])
        for json in [
            #"{"type": "auth.logged_out", "subject": "user:42"}"#, #"{"type": "auth.logged_out", "subject": "42"}"#,
            #"{"type": "auth.logged_out", "data": {"user": {"id": 42}}}"#,
            #"{"type": "auth.logged_out", "subject": "other", "data": {"user": {"id": "42"}}}"#,
        ] {
            guard case .auth("42", false, _, nil)? = read(json).draft?.family else { throw Unexpected("\(json)") }
        }
    }

    @Test("a status published by a client needs a user and one of two values, and has no cause")
    func status() throws {
        #expect(pointers(#"{"type": "auth.status_changed"}"#) == ["/data/user/id", "/data/status"])
        #expect(
            pointers(#"{"type": "auth.status_changed", "data": {"user_id": [], "status": "on", "cause": "e1"}}"#)
                == ["/data/cause", "/data/user_id", "/data/status"])
        let (draft, errors) = read(
            #"{"type": "auth.status_changed", "data": {"user_id": 42, "status": "logged_out"}}"#)
        #expect(errors.isEmpty)
        guard case .auth("42", false, nil, nil)? = draft?.family
        else { throw Unexpected("\(String(describing: draft))") }
    }

    @Test("other types below auth have no special meaning")
    func otherAuth() throws {
        let (draft, errors) = read(#"{"type": "auth.token_refreshed", "data": 1}"#)
        #expect(errors.isEmpty)
        guard case EventDraft.Family.none? = draft?.family else { throw Unexpected("\(String(describing: draft))") }
    }

    // MARK: App state

    @Test("an app state needs a state and must not have a previous one; both errors at once")
    func appState() throws {
        #expect(pointers(#"{"type": "app_state.changed"}"#) == ["/data/state"])
        #expect(pointers(#"{"type": "app_state.changed", "data": "idle"}"#) == ["/data/state"])
        #expect(
            pointers(#"{"type": "app_state.changed", "data": {"previous": 1}}"#) == ["/data/state", "/data/previous"])
        #expect(
            pointers(#"{"type": "app_state.changed", "data": {"state": 1, "previous": 1}}"#) == ["/data/previous"])
        for state in [#""idle""#, #"{"ready": false}"#, "null", #"{"a": [1, {"b": 2}]}"#] {
            let (draft, _) = read(#"{"type": "app_state.changed", "data": {"state": \#(state)}}"#)
            guard case .appState(let bytes, false, nil)? = draft?.family else { throw Unexpected("\(state)") }
            #expect(String(decoding: bytes, as: UTF8.self) == state)
        }
    }

    @Test(
        "the previous state is appended to the published data, which stays unchanged",
        arguments: [
            #"{"state":"idle"}"#, "{ \"state\" : {\"a\":{\"b\":{}}}\n }", #"{"state":"}","more":{"x":"{"}}"#,
        ])
    func previous(data: String) throws {
        let event = Event("app_state.changed", data: data)
        let completed = AppStateFamily.withPrevious(event, Array(#"{"was":"}"}"#.utf8))
        let text = String(decoding: completed.data, as: UTF8.self)
        #expect(text == data.dropLast() + #","previous":{"was":"}"}}"#)
        let document = try JSONDocument(parsing: text)
        #expect(document["previous"]?["was"]?.string == "}")
        #expect(document["state"]?.bytes == (try JSONDocument(parsing: data))["state"]?.bytes)
        let first = AppStateFamily.withPrevious(event, nil)
        #expect(try JSONDocument(parsing: Array(first.data))["previous"]?.isNull == true)
    }

    // MARK: Auth status

    @Test("the time and the event of a status are those of its last change; the user is the last one published")
    func nextStatus() {
        func event(_ id: String, _ time: Int64) -> Event {
            Event(id: id, type: "auth.logged_in", subject: nil, time: time, data: Array("null".utf8))
        }
        let user = Array("{}".utf8)
        let first = AuthStatus.next(after: nil, userID: "1", isLoggedIn: true, user: user, event: event("a", 1))
        #expect(first.eventID == "a" && first.since == 1 && first.user == user)
        let second = AuthStatus.next(after: first, userID: "1", isLoggedIn: true, user: nil, event: event("b", 2))
        #expect(second == first)
        let third = AuthStatus.next(after: second, userID: "1", isLoggedIn: false, user: nil, event: event("c", 3))
        #expect(third.eventID == "c" && third.since == 3 && third.user == user && !third.isLoggedIn)
    }
}
