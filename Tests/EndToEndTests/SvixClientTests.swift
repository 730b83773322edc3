import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

/// The behavior that programs with an SDK of Svix depend on.
@Suite("Svix's API, as its SDKs use it", .timeLimit(.minutes(20)))
struct SvixClientTests {
    private static let endpoints = SvixTests.root + "/app/acme/endpoint"

    private static func start() async throws -> HeraldProcess {
        let herald = try await SvixTests.start()
        let made = try await herald.post(SvixTests.root + "/app", #"{"name": "Acme", "uid": "acme"}"#)
        try #require(made.status == 201, "\(made.text)")
        return herald
    }

    @Test("an endpoint has its event types by both names")
    func eventTypes() async throws {
        let herald = try await Self.start()
        let made = try await herald.post(
            Self.endpoints, #"{"url": "https://one.example/", "uid": "one", "eventTypes": ["order.paid"]}"#)
        #expect(made.status == 201, "\(made.text)")
        for name in ["eventTypes", "filterTypes"] {
            #expect(made[name]?.elements.compactMap(\.string) == ["order.paid"], "\(name): \(made.text)")
        }
        let all = try await herald.send("PUT", Self.endpoints + "/one", #"{"url": "https://one.example/"}"#)
        #expect(all["eventTypes"]?.isNull == true && all["filterTypes"]?.isNull == true, "\(all.text)")
    }

    @Test("a PUT of an event type replaces its description and schema, and keeps the check, which Svix lacks")
    func checks() async throws {
        let herald = try await SvixTests.start()
        let own = "/v1/event-types/a.b"
        let first = #"{"description": "Old", "schema": {"type": "object"}, "check": "enforce", "example": {}}"#
        #expect(try await herald.send("PUT", own, first).status == 201)
        let path = SvixTests.root + "/event-type/a.b"
        let body = #"{"description": "New", "schemas": {"1": {"type": "array"}}}"#
        let put = try await herald.send("PUT", path, body)
        #expect(put.status == 200 && put.string("description") == "New", "\(put.text)")
        let changed = try await herald.get(own)
        #expect(changed.string("check") == "enforce" && changed["schema"]?["type"]?.string == "array")
        #expect(try await herald.send("PUT", path, #"{"description": ""}"#).status == 200)
        #expect(try await herald.get(own).string("check") == "off")
        #expect(try await herald.send("PUT", path + ".c", body).status == 201)
    }

    @Test("without a uid, each request creates another application; with one, get_if_exists finds it")
    func applications() async throws {
        let herald = try await SvixTests.start()
        let path = SvixTests.root + "/app?get_if_exists=true"
        var ids: Set<String> = []
        for number in 0..<3 {
            let made = try await herald.post(path, #"{"name": "Acme Inc."}"#, ["Idempotency-Key": "key-\(number)"])
            #expect(made.status == 201 && made.string("name") == "Acme Inc.", "\(made.text)")
            ids.insert(made.id)
            let uid = made.string("uid") ?? ""
            let found = try await herald.post(path, #"{"name": "Acme Inc.", "uid": "\#(uid)"}"#)
            #expect(found.status == 200 && found.id == made.id, "\(found.text)")
        }
        #expect(ids.count == 3)
        // Names that no app can have, and the one of the uid that another application has later.
        for name in ["default", "app_1", "株式会社", "Later"] {
            let made = try await herald.post(path, #"{"name": "\#(name)"}"#)
            #expect(made.status == 201 && made.string("name") == name, "\(made.text)")
            #expect(made.id != "app_00000000000000000000000000")
        }
        let later = try await herald.post(path, #"{"name": "Another", "uid": "later"}"#)
        #expect(later.status == 201 && later.string("name") == "Another", "\(later.text)")
        let empty = try await herald.post(path, #"{"name": "Another", "uid": ""}"#)
        #expect(empty.status == 422 && empty.text.contains(#""body","uid""#), "\(empty.text)")
    }

    @Test("a patch replaces the metadata of an endpoint; a PUT without a throttle rate removes that of an application")
    func replacements() async throws {
        let herald = try await Self.start()
        let made = try await herald.post(
            Self.endpoints, #"{"url": "https://one.example/", "uid": "one", "metadata": {"a": "1", "b": "2"}}"#)
        #expect(made.status == 201, "\(made.text)")
        let path = Self.endpoints + "/one"
        let other = try await herald.send("PATCH", path, #"{"description": "d"}"#)
        #expect(other["metadata"]?.members.map(\.key).sorted() == ["a", "b"], "\(other.text)")
        let patched = try await herald.send("PATCH", path, #"{"metadata": {"b": "3"}}"#)
        #expect(patched["metadata"]?.members.map(\.key) == ["b"], "\(patched.text)")
        #expect(patched["metadata"]?["b"]?.string == "3" && patched.string("uid") == "one", "\(patched.text)")
        let none = try await herald.send("PATCH", path, #"{"metadata": {}}"#)
        #expect(none["metadata"]?.count == 0 && none.string("uid") == "one", "\(none.text)")

        let app = SvixTests.root + "/app/acme"
        let limited = try await herald.send("PUT", app, #"{"name": "Acme", "throttleRate": 9}"#)
        #expect(limited["throttleRate"]?.integer == 9, "\(limited.text)")
        let named = try await herald.send("PATCH", app, #"{"name": "Acme Inc."}"#)
        #expect(named["throttleRate"]?.integer == 9, "\(named.text)")
        let free = try await herald.send("PUT", app, #"{"name": "Acme"}"#)
        #expect(free["throttleRate"]?.isNull == true && free.string("uid") == "acme", "\(free.text)")
    }

    @Test("an API key in a header is not shown, and can be removed; svix.ping is an example without a description")
    func headersAndPing() async throws {
        let herald = try await Self.start()
        let receiver = try herald.receiver()
        let made = try await herald.post(
            Self.endpoints,
            #"{"url": "\#(receiver.url("/hook"))", "uid": "one", "headers": {"X-API-Key": "hush", "X-Other": "1"}}"#)
        #expect(made.status == 201, "\(made.text)")
        let headers = try await herald.get(Self.endpoints + "/one/headers")
        #expect(headers["headers"]?.members.map(\.key) == ["X-Other"], "\(headers.text)")
        #expect(headers["sensitive"]?.elements.compactMap(\.string) == ["X-API-Key"] && !headers.text.contains("hush"))
        let patched = try await herald.send(
            "PATCH", Self.endpoints + "/one/headers", #"{"headers": {"X-New": "2"}, "deleteHeaders": ["x-api-key"]}"#)
        #expect(patched.status == 204, "\(patched.text)")
        let left = try await herald.get(Self.endpoints + "/one/headers")
        #expect(left["headers"]?.members.map(\.key).sorted() == ["X-New", "X-Other"], "\(left.text)")
        #expect(left["sensitive"]?.count == 0, "\(left.text)")
        let wrong = try await herald.send(
            "PATCH", Self.endpoints + "/one/headers", #"{"headers": {}, "deleteHeaders": [1]}"#)
        #expect(wrong.status == 422 && wrong.text.contains("deleteHeaders"), "\(wrong.text)")

        let sent = try await herald.post(Self.endpoints + "/one/send-example", #"{"eventType": "svix.ping"}"#)
        #expect(sent.status == 202 && sent["payload"]?["success"]?.bool == true, "\(sent.text)")
        let request = try #require(await receiver.requests(1).first)
        #expect(request.header("svix-id") == sent.id && request.body.contains(UInt8(ascii: "s")))
    }

    @Test("a list of event types that begin with the sign of Svix's previous page ends, in both directions")
    func iterators() async throws {
        let herald = try await Self.start()
        let names = ["-a", "-b", "-c", "a", "b"]
        for name in names {
            let made = try await herald.post(
                SvixTests.root + "/event-type", #"{"name": "\#(name)", "description": ""}"#)
            #expect(made.status == 201, "\(made.text)")
        }
        func page(_ iterator: String) async throws -> (names: [String], answer: Answer) {
            let answer = try await herald.get(SvixTests.root + "/event-type?limit=1&iterator=\(iterator)")
            #expect(answer.status == 200, "\(answer.text)")
            return (answer.data.compactMap { $0["name"]?.string }, answer)
        }
        var (found, iterator): ([String], String) = ([], "")
        for index in names.indices {
            let (shown, answer) = try await page(iterator)
            found += shown
            #expect(answer["done"]?.bool == (index == names.count - 1), "\(answer.text)")
            iterator = answer.string(index == names.count - 1 ? "prevIterator" : "iterator") ?? ""
        }
        #expect(found == names)
        found = []
        for _ in 1..<names.count {
            let (shown, answer) = try await page(iterator)
            found += shown
            iterator = answer.string("prevIterator") ?? ""
        }
        #expect(found == names.dropLast().reversed())
    }

    @Test("a limit of an app beyond 16 bits is shown as the largest rate that SDKs read")
    func rate() async throws {
        let herald = try await Self.start()
        let app = try await herald.get(SvixTests.root + "/app/acme").id
        let set = try await herald.send("PATCH", "/v1/apps/\(app)", #"{"events_per_second": 1000000}"#)
        #expect(set.status == 200, "\(set.text)")
        #expect(try await herald.get(SvixTests.root + "/app/acme")["throttleRate"]?.integer == 65_535)
    }

    @Test("what is sent again to an endpoint that responded with 410 is refused, with the request that enables it")
    func gone() async throws {
        let herald = try await Self.start()
        let hasAgreed = Flag()
        let receiver = try herald.receiver { _ in hasAgreed.isSet ? .status(200) : .status(410) }
        let made = try await herald.post(Self.endpoints, #"{"url": "\#(receiver.url("/hook"))", "uid": "one"}"#)
        #expect(made.status == 201, "\(made.text)")
        let message = #"{"eventType": "order.paid", "eventId": "m1", "payload": {}}"#
        #expect(try await herald.post(SvixTests.root + "/app/acme/msg", message).status == 202)
        _ = try await herald.get(Self.endpoints + "/one") { $0["disabled"]?.bool == true }

        let resend = SvixTests.root + "/app/acme/msg/m1/endpoint/one/resend"
        for (path, body) in [
            (resend, nil), (Self.endpoints + "/one/recover", #"{"since": "2020-01-01T00:00:00Z"}"#),
        ] {
            let refused = try await herald.send("POST", path, body)
            #expect(refused.status == 409 && refused.string("code") == "delegate_gone", "\(refused.text)")
            let enabling = #"PATCH /api/v1/app/{app_id}/endpoint/\#(made.id) with {"disabled": false}."#
            #expect(refused.string("detail")?.hasSuffix(enabling) == true, "\(refused.text)")
        }
        hasAgreed.set()
        let enabled = try await herald.send("PATCH", "\(Self.endpoints)/\(made.id)", #"{"disabled": false}"#)
        #expect(enabled.status == 200 && enabled["disabled"]?.bool == false, "\(enabled.text)")
        #expect(try await herald.send("POST", resend).status == 202)
        #expect(await receiver.requests(2).map { $0.header("svix-id") } == ["m1", "m1"])
    }
}
