import Foundation
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("Delegates with a recipe", .timeLimit(.minutes(20)), .serialized)
struct RecipeTests {
    private static let recipe = #"""
        {"method": "PUT", "path": "/{{ data.user }}", "body": {"text": "{{ data.user }} paid {{ data.amount }} €"},
         "sign": ["github"], "auth": {"basic": {"user": "ada", "password": "hush-hush"}}}
        """#

    @Test("a recipe is checked, merged, kept over a restart, and shown without its secret")
    func life() async throws {
        var herald = try await HeraldProcess.start()
        let receiver = try Receiver()
        defer { receiver.close() }
        let created = try await herald.register(
            receiver.url("/hook"), #""secret": "a-text-of-github-1", "request": \#(Self.recipe)"#)
        #expect(created.string("signature") == "text")
        #expect(created["request"]?["auth"]?.bytes == Array(#"{"basic":{"user":"ada"}}"#.utf8))
        #expect(!created.text.contains("hush-hush"))

        // Member by member; the password stays.
        let path = "/v1/delegates/\(created.id)"
        let changed = try await herald.send(
            "PATCH", path, #"{"request": {"method": null, "auth": {"basic": {"user": "eve"}}, "query": {"v": "2"}}}"#)
        #expect(changed.status == 200, "\(changed.text)")
        #expect(changed["request"]?["method"] == nil)
        #expect(changed["request"]?["path"]?.string == "/{{ data.user }}")
        try await herald.kill()
        herald = try await herald.restart()
        try await herald.publish("paid", #""data": {"user": "Ada L", "amount": 12.50}"#)
        let request = try #require(await receiver.requests(1).first)
        #expect(request.method == "POST")
        #expect(request.path == "/hook/Ada%20L?v=2")
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"text":"Ada L paid 12.50 €"}"#)
        #expect(request.header("authorization") == "Basic ZXZlOmh1c2gtaHVzaA==")
        #expect(request.header("x-hub-signature-256")?.count == 71)

        let reset = try await herald.send("PATCH", path, #"{"request": null}"#)
        // The key is for schemes only.
        #expect(reset.status == 422)
        #expect(reset.errors == ["/secret"])
        _ = try await herald.send("POST", "\(path)/secret/rotate", #"{"signature": "v1"}"#)
        #expect(try await herald.send("PATCH", path, #"{"request": null}"#).status == 200)
        #expect(try await herald.get(path)["request"]?.isNull == true)
        #expect(!herald.process.text.contains("hush-hush"))
    }

    @Test("what is wrong with a recipe is 422, with the pointers of all errors")
    func refusals() async throws {
        let herald = try await HeraldProcess.start()
        for (recipe, pointers) in [
            (#"[]"#, ["/request"]), (#"{"colour": 1}"#, ["/request/colour"]),
            (#"{"preset": "none"}"#, ["/request/preset"]), (#"{"method": "GET"}"#, ["/request/method"]),
            (#"{"path": "a", "query": {"q": 1}}"#, ["/request/path", "/request/query/q"]),
            (#"{"body": {"a": ["{{ data. }}"], "b": "{{ nobody }}"}}"#, ["/request/body/a/0", "/request/body/b"]),
            (
                #"{"headers": {"Host": "x", "Authorization": "x"}}"#,
                ["/request/headers/Host", "/request/headers/Authorization"]
            ),
            (#"{"form": true}"#, ["/request/form"]), (#"{"form": true, "body": [1]}"#, ["/request/body"]),
            (
                #"{"form": true, "body": {"a": 1, "b": {"c": "{{ id }}"}, "d": [], "e": {"$if": {"type": ["a"]}, "then": 1}}}"#,
                ["/request/body/b", "/request/body/d"]
            ),
            (#"{"sign": ["none"]}"#, ["/request/sign/0"]),
            (#"{"sign": [{"header": "X-S", "content": "{time}"}]}"#, ["/request/sign/0/content"]),
            (
                #"{"sign": ["github", {"header": "x-hub-signature-256"}, {"header": "Webhook-Signature"}]}"#,
                ["/request/sign/1"]
            ),
            (#"{"sign": ["standard", {"header": "Webhook-Signature"}]}"#, ["/request/sign/1"]),
            (#"{"headers": {"svix-ID": "x"}, "sign": ["svix"]}"#, ["/request/sign/0"]),
            (
                #"{"sign": [{"header": "Authorization"}], "auth": {"basic": {"user": "a", "password": "c"}}}"#,
                ["/request/sign/0"]
            ),
            (#"{"auth": {"basic": {"user": "a:b", "password": "c"}}}"#, ["/request/auth/basic/user"]),
            (
                #"{"headers": {"X-Amz-Date": "x"}, "auth": {"aws": {"region": "r", "service": "s3", "key_id": "a", "secret": "b"}}}"#,
                ["/request/headers/X-Amz-Date"]
            ),
            (#"{"auth": {"basic": {}}}"#, ["/request/auth/basic/user", "/request/auth/basic/password"]),
            (
                #"{"auth": {"oauth2": {"token_url": "http://10.0.0.1/", "client_id": "a", "client_secret": "b"}}}"#,
                ["/request/auth/oauth2/token_url"]
            ),
            (#"{"success": {"data": {"ok": [true]}}}"#, ["/request/success"]),
            (#"{"success": {"body": {"ok": []}}}"#, ["/request/success/body/ok"]),
        ] as [(String, [String])] {
            let body = #"{"url": "http://127.0.0.1:9/", "request": \#(recipe)}"#
            let answer = try await herald.post("/v1/delegates", body)
            #expect(answer.status == 422, "\(answer.text)")
            #expect(Set(answer.errors) == Set(pointers), "\(answer.text)")
            #expect(try await herald.post("/v1/delegates/preview", body).status == 422, "\(recipe)")
        }
        #expect(try await herald.get("/v1/delegates?kind=webhook").data.isEmpty)
    }

    @Test("an event that no request can be made of is exhausted at once, with the reason; the delegate stays active")
    func notMade() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        let created = try await herald.register(receiver.url(), #""request": {"path": "/{{ data.user }}"}"#)
        let waited = try await herald.post("/v1/events", #"{"type": "paid", "data": {}}"#, ["Prefer": "wait=30"])
        #expect(waited["deliveries"]?.elements.map { $0["state"]?.string } == ["exhausted"], "\(waited.text)")
        for _ in 0..<7 { try await herald.publish("paid", #""data": {}"#) }
        try await herald.publish("paid", #""data": {"user": "ada"}"#)
        #expect(await receiver.requests(1).map(\.path) == ["/ada"])
        _ = try await herald.get("/v1/deliveries?state=exhausted&error=request_not_made") { $0.data.count == 8 }
        let attempts = try await herald.get("/v1/delegates/\(created.id)/attempts?outcome=failed")
        #expect(attempts.data.count == 8)
        #expect(attempts.text.contains("/request/path"))
        #expect(try await herald.get("/v1/delegates/\(created.id)").string("status") == "active")
        let metrics = try await herald.get("/metrics").text
        #expect(metrics.contains("herald_requests_not_made_total 8"))
    }

    @Test("all attempts for an event have one body, also after a restart")
    func oneBody() async throws {
        var herald = try await HeraldProcess.start()
        let receiver = try Receiver { $0.header("herald-attempt") == "1" ? .status(500) : .status(200) }
        defer { receiver.close() }
        _ = try await herald.register(
            receiver.url(),
            #""retry_schedule": [0.05, 0.05, 0.05, 30], "request": {"body": {"t": "{{ time }}", "all": "{{ data }}", "d": "{{ delegate.id }}"}}"#
        )
        var ids: [String] = []
        for number in 0..<10 { ids.append(try await herald.publish("paid", #""data": {"n": \#(number)}"#)) }
        for id in ids { _ = try await herald.deliveries(of: id, "delivered") }
        try await herald.kill()
        herald = try await herald.restart()
        for id in ids { #expect(try await herald.send("POST", "/v1/events/\(id)/redeliver").status == 202) }
        let requests = await receiver.requests { requests in
            let counts = Dictionary(grouping: requests) { $0.header("webhook-id") ?? "" }.values.map(\.count)
            return counts.count == 10 && counts.allSatisfy { $0 >= 3 }
        }
        let bodies = Dictionary(grouping: requests) { $0.header("webhook-id") ?? "" }.mapValues { Set($0.map(\.body)) }
        #expect(bodies.count == 10)
        #expect(bodies.values.allSatisfy { $0.count == 1 })
    }

    @Test(
        "a preview shows the request for a stored event, for the example of a type, and for settings that no delegate has"
    )
    func preview() async throws {
        let herald = try await HeraldProcess.start()
        let created = try await herald.register(
            "http://127.0.0.1:9/hook", #""secret": "a-text-of-github-1", "request": \#(Self.recipe)"#)
        let event = try await herald.publish("paid", #""data": {"user": "Ada", "amount": 3}"#)
        let stored = try await herald.send("POST", "/v1/delegates/\(created.id)/preview?event=\(event)")
        #expect(stored.status == 200, "\(stored.text)")
        #expect(stored.string("method") == "PUT")
        #expect(stored.string("url") == "http://127.0.0.1:9/hook/Ada")
        #expect(stored.string("body") == #"{"text":"Ada paid 3 €"}"#)
        #expect(stored["headers"]?["authorization"]?.string == "Basic ***")
        #expect(stored["headers"]?["x-hub-signature-256"] != nil)
        // The made-up event has no user.
        let none = try await herald.send("POST", "/v1/delegates/\(created.id)/preview")
        #expect(none.status == 422)
        #expect(none.errors == ["/request/path"])
        _ = try await herald.send(
            "PUT", "/v1/event-types/order.paid", #"{"example": {"user": "Bob", "amount": 1}}"#)
        let example = try await herald.post(
            "/v1/delegates/preview?type=order.paid",
            #"{"url": "http://127.0.0.1:9/x", "request": \#(Self.recipe), "secret": "a-text-of-github-1"}"#)
        #expect(example.string("body") == #"{"text":"Bob paid 1 €"}"#, "\(example.text)")
        #expect(try await herald.send("POST", "/v1/delegates/dlg_0/preview").status == 404)
        #expect(try await herald.send("POST", "/v1/delegates/\(created.id)/preview?event=evt_0").status == 404)
        #expect(try await herald.get("/v1/delegates?kind=webhook").data.count == 1)
    }

    @Test("a preview of a delegate shows the request after a change, which is merged and checked, and changes nothing")
    func previewOfChange() async throws {
        let herald = try await HeraldProcess.start()
        let created = try await herald.register("http://127.0.0.1:9/hook", #""metadata": {"team": "web"}"#)
        let path = "/v1/delegates/\(created.id)/preview"
        let body = #"{"k": "{{ delegate.metadata.key }}", "t": "{{ delegate.metadata.team }}"}"#
        let change =
            #"{"url": "http://127.0.0.1:9/new", "metadata": {"key": "R1"}, "request": {"preset": "pagerduty", "body": \#(body)}}"#
        let preview = try await herald.post(path, change)
        #expect(preview.string("url") == "http://127.0.0.1:9/new", "\(preview.text)")
        #expect(preview.string("body") == #"{"k":"R1","t":"web"}"#)
        for (body, pointer) in [
            (#"{"request": {"body": "{{ dat"}}"#, "/request/body"), (#"{"timeout_seconds": 0}"#, "/timeout_seconds"),
            // Its key signs by HMAC.
            (#"{"request": {"sign": ["discord"]}}"#, "/secret"), (#"{"start": "now"}"#, "/start"),
        ] {
            let refused = try await herald.post(path, body)
            #expect(refused.status == 422 && refused.errors == [pointer], "\(body): \(refused.text)")
        }
        let shown = try await herald.get("/v1/delegates/\(created.id)")
        #expect(shown["request"]?.isNull == true && shown.string("url") == "http://127.0.0.1:9/hook")
    }
}
