import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Auth status and app state", .timeLimit(.minutes(20)), .serialized)
struct FamilyTests {
    @Test("logins and logouts change the status, and each change of status is published with them")
    func auth() async throws {
        let herald = try await HeraldProcess.start()
        let unknown = try await herald.get("/v1/auth/42")
        #expect(unknown.status == 200)
        #expect(unknown.string("status") == "unknown")

        let login = try await herald.publish("auth.logged_in", #""data": {"user": {"id": 42, "name": "Ada"}}"#)
        let status = try await herald.get("/v1/auth/42")
        #expect(status.string("status") == "logged_in")
        #expect(status["user"]?.bytes == Array(#"{"id": 42, "name": "Ada"}"#.utf8))
        #expect(status.string("event_id") == login)
        // The same again: no change of status.
        try await herald.publish("auth.logged_in", #""data": {"user": {"id": "42"}}"#)
        let logout = try await herald.publish("auth.logged_out", #""subject": "user:42""#)
        #expect(try await herald.get("/v1/auth/42").string("status") == "logged_out")

        let changes = try await herald.get("/v1/events?type=auth.status_changed").data
        #expect(changes.map { $0["data"]?["status"]?.string } == ["logged_out", "logged_in"])
        #expect(changes.map { $0["data"]?["cause"]?.string } == [logout, login])
        #expect(changes.allSatisfy { $0["subject"]?.string == "user:42" && $0["data"]?["user_id"]?.string == "42" })
        let logins = try await herald.get("/v1/events?type=auth.logged_in").data
        #expect(logins.count == 2 && logins.allSatisfy { $0["subject"]?.string == "user:42" })
    }

    @Test("auth events without a user are refused")
    func badAuth() async throws {
        let herald = try await HeraldProcess.start()
        for (body, pointer) in [
            (#"{"type": "auth.logged_in"}"#, "/data/user"),
            (#"{"type": "auth.logged_in", "subject": "user:1"}"#, "/data/user"),
            (#"{"type": "auth.logged_in", "data": {"user": "ada"}}"#, "/data/user"),
            (#"{"type": "auth.logged_in", "data": {"user": {"id": ""}}}"#, "/data/user/id"),
            (#"{"type": "auth.logged_in", "data": {"user": {"id": 1.5}}}"#, "/data/user/id"),
            (#"{"type": "auth.logged_out"}"#, "/data/user/id"),
            (#"{"type": "auth.status_changed", "subject": "user:1"}"#, "/data/status"),
        ] {
            let answer = try await herald.post("/v1/events", body)
            #expect(answer.status == 422, "\(body)")
            #expect(answer.errors == [pointer], "\(body)")
        }
        #expect(try await herald.get("/v1/events").data.isEmpty)
    }

    @Test("PUT of an auth status is equivalent to posting the event")
    func putAuth() async throws {
        let herald = try await HeraldProcess.start()
        let put = try await herald.send(
            "PUT", "/v1/auth/a%20b", #"{"status": "logged_in", "user": {"id": "a b", "x": 1}}"#)
        #expect(put.status == 200)
        #expect(put.string("user_id") == "a b")
        #expect(put.string("status") == "logged_in")
        let types = try await herald.get("/v1/events").data.map { $0["type"]?.string }
        #expect(types == ["auth.status_changed", "auth.logged_in"])
        #expect(
            try await herald.send("PUT", "/v1/auth/1", #"{"status": "logged_in", "user": {"id": 2}}"#).status == 422)
        #expect(try await herald.send("PUT", "/v1/auth/1", #"{"status": "dancing"}"#).errors == ["/status"])
        let wrong = try await herald.send("PUT", "/v1/auth/1", #"{"state": "logged_in"}"#)
        #expect(Set(wrong.errors) == ["/state", "/status"])
        let tenant = try await herald.send("PUT", "/v1/auth/tenant%2F42", #"{"status": "logged_in"}"#)
        #expect(tenant.status == 200 && tenant.string("user_id") == "tenant/42", "\(tenant.text)")
        #expect(try await herald.get("/v1/auth/tenant%2F42").string("status") == "logged_in")
        try await herald.publish("auth.logged_in", #""data": {"user": {"id": "CORP\\zoe"}}"#)
        let domain = try await herald.get("/v1/auth/CORP%5Czoe")
        #expect(domain.string("user_id") == #"CORP\zoe"# && domain.string("status") == "logged_in", "\(domain.text)")
        #expect(
            try await herald.send("PUT", "/v1/auth/1", #"{"status": "logged_out"}"#).string("status") == "logged_out")
    }

    @Test("a subject that names another user than the data is refused")
    func contradiction() async throws {
        let herald = try await HeraldProcess.start()
        let answer = try await herald.post(
            "/v1/events", #"{"type": "auth.logged_in", "subject": "user:7", "data": {"user": {"id": 8}}}"#)
        #expect(answer.status == 422)
        #expect(answer.errors == ["/subject"])
        // A subject of another kind says nothing of the user.
        #expect(
            try await herald.post(
                "/v1/events", #"{"type": "auth.logged_in", "subject": "session:7", "data": {"user": {"id": 8}}}"#
            ).status == 202)
    }

    @Test("the app state is the last one set; every event contains the previous one")
    func appState() async throws {
        let herald = try await HeraldProcess.start()
        let (receiver, _) = try await herald.registerReceiver(#""events": ["app_state.*"]"#)
        #expect(try await herald.get("/v1/app-state")["state"]?.isNull == true)
        #expect(
            try await herald.send("PUT", "/v1/app-state", #"{"state": {"authentication": "active"}}"#).status == 200)
        #expect(try await herald.send("PUT", "/v1/app-state", #"{"state": "idle"}"#).string("state") == "idle")
        #expect(try await herald.send("PUT", "/v1/app-state", #"{"state": "idle"}"#).status == 200)
        // Not a change, so no delegate is notified.
        #expect(try await herald.send("PUT", "/v1/app-state?if_changed=true", #"{"state": "idle"}"#).status == 200)
        try await herald.publish("app_state.changed", #""data": {"state": {"ready": false}}"#)
        #expect(try await herald.get("/v1/app-state")["state"]?.bytes == Array(#"{"ready": false}"#.utf8))

        let bodies = try await receiver.requests(4).map { try JSONDocument(parsing: $0.body) }
        let told = bodies.map { body in
            String(
                decoding: (body["data"]?["previous"]?.bytes ?? []) + [62] + (body["data"]?["state"]?.bytes ?? []),
                as: UTF8.self)
        }
        #expect(
            Set(told) == [
                #"null>{"authentication": "active"}"#, #"{"authentication": "active"}>"idle""#, #""idle">"idle""#,
                #""idle">{"ready": false}"#,
            ])
        #expect(try await herald.get("/v1/events?type=app_state.changed").data.count == 4)
        #expect(
            try await herald.post("/v1/events", #"{"type": "app_state.changed", "data": {}}"#).errors == ["/data/state"]
        )
    }

    @Test("a state and a user have as many levels and values as any body")
    func limits() async throws {
        let herald = try await HeraldProcess.start()
        /// The body has 64 levels and 10,000 values.
        func nested(_ levels: Int, values: Int) -> String {
            let inner = [String](repeating: "1", count: values - levels).joined(separator: ",")
            return String(repeating: "[", count: levels) + inner + String(repeating: "]", count: levels)
        }
        let state = try await herald.send("PUT", "/v1/app-state", #"{"state": \#(nested(63, values: 9_999))}"#)
        #expect(state.status == 200, "\(state.text.prefix(300))")
        #expect(try await herald.send("PUT", "/v1/app-state", #"{"state": \#(nested(64, values: 64))}"#).status == 400)
        #expect(
            try await herald.send("PUT", "/v1/app-state", #"{"state": \#(nested(63, values: 10_000))}"#).status == 422)
        let user = #"{"status": "logged_in", "user": {"id": 1, "x": \#(nested(62, values: 9_000))}}"#
        let status = try await herald.send("PUT", "/v1/auth/1", user)
        #expect(status.status == 200, "\(status.text.prefix(300))")
        let previous = try await herald.send("PUT", "/v1/app-state", #"{"state": 1}"#)
        #expect(previous.status == 200, "\(previous.text.prefix(300))")
    }

    @Test("status and state survive a restart")
    func restart() async throws {
        let herald = try await HeraldProcess.start()
        try await herald.publish("auth.logged_in", #""data": {"user": {"id": 7}}"#)
        let state = try await herald.send("PUT", "/v1/app-state", #"{"state": {"data_retrieval": "success"}}"#)
        try await herald.kill()
        let next = try await herald.restart()
        #expect(try await next.get("/v1/auth/7").string("status") == "logged_in")
        let after = try await next.get("/v1/app-state")
        #expect(after.body == state.body)
        #expect(after.header("etag") == state.header("etag"))
    }
}
