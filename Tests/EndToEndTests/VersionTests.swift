import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Versions: ETag, If-Match, If-None-Match", .timeLimit(.minutes(20)), .serialized)
struct VersionTests {
    @Test("a change with an outdated version gets 412 and changes nothing")
    func lostUpdate() async throws {
        let herald = try await HeraldProcess.start()
        let created = try await herald.register("http://127.0.0.1:9/")
        let path = try #require(created.header("location"))
        let first = try #require(created.header("etag"))
        #expect(try await herald.get(path).header("etag") == first)

        let changed = try await herald.send("PATCH", path, #"{"description": "one"}"#, ["If-Match": first])
        #expect(changed.status == 200)
        let second = try #require(changed.header("etag"))
        #expect(second != first)

        for (method, body) in [("PATCH", #"{"description": "two"}"#), ("DELETE", nil)] {
            let late = try await herald.send(method, path, body, ["If-Match": first])
            #expect(late.status == 412)
            #expect(late.problem == "precondition-failed")
        }
        #expect(try await herald.get(path).string("description") == "one")
        #expect(try await herald.send("PATCH", path, "{}", ["If-Match": "W/\(second)"]).status == 412)
        #expect(try await herald.send("PATCH", path, "{}", ["If-Match": "nonsense"]).status == 412)
        #expect(try await herald.send("PATCH", path, "{}", ["If-Match": "*"]).status == 200)
        #expect(try await herald.send("DELETE", path, nil, ["If-Match": second]).status == 204)
    }

    @Test("a user's version changes with everything that is returned; a logout keeps the known user")
    func authVersions() async throws {
        let herald = try await HeraldProcess.start()
        let path = "/v1/auth/42"
        let unknown = try #require(try await herald.get(path).header("etag"))
        let named = #"{"status": "logged_in", "user": {"id": 42, "name": "Ada"}}"#
        let first = try await herald.send("PUT", path, named, ["If-Match": unknown])
        #expect(first.status == 200)
        let tag = try #require(first.header("etag"))
        #expect(try await herald.send("PUT", path, named, ["If-Match": unknown]).status == 412)

        // Logged in again with other data: the status is the same, what is shown is not.
        let renamed = try await herald.send(
            "PUT", path, #"{"status": "logged_in", "user": {"id": 42, "name": "Eve"}}"#, ["If-Match": tag])
        #expect(renamed.status == 200)
        #expect(renamed.header("etag") != tag)
        #expect(try await herald.get(path, ["If-None-Match": tag]).status == 200)
        #expect(try await herald.send("PUT", path, named, ["If-Match": tag]).status == 412)

        let out = try await herald.send("PUT", path, #"{"status": "logged_out"}"#)
        #expect(out.string("status") == "logged_out")
        #expect(out["user"]?["name"]?.string == "Eve")
    }

    @Test("a version that the client already has gets 304 without a body")
    func notModified() async throws {
        let herald = try await HeraldProcess.start()
        let created = try await herald.register("http://127.0.0.1:9/")
        let event = try await herald.publish("elsewhere.happened")
        #expect(try await herald.send("PUT", "/v1/app-state", #"{"state": "idle"}"#).status == 200)
        #expect(
            try await herald.send("PUT", "/v1/auth/42", #"{"status": "logged_in", "user": {"id": 42}}"#).status == 200)
        // Without its deliveries, which go on.
        let story = "/v1/events/\(event)?deliveries=none"
        for path in ["/v1/delegates/\(created.id)", "/v1/app-state", "/v1/auth/42", "/v1/auth/nobody", story] {
            let tag = try #require(try await herald.get(path).header("etag"), "\(path)")
            let again = try await herald.get(path, ["If-None-Match": "\"other\", \(tag)"])
            #expect(again.status == 304, "\(path)")
            #expect(again.body.isEmpty)
            #expect(again.header("etag") == tag)
            #expect(try await herald.get(path, ["If-None-Match": "\"other\""]).status == 200)
        }
    }

    @Test("a change with the current version in If-None-Match is made, and its response has the resource")
    func changed() async throws {
        let herald = try await HeraldProcess.start()
        let delegate = try await herald.register("http://127.0.0.1:9/")
        let app = try await herald.post("/v1/apps", #"{"name": "acme"}"#)
        #expect(try await herald.send("PUT", "/v1/event-types/a.b", "{}").status == 201)
        #expect(try await herald.send("PUT", "/v1/app-state", #"{"state": "idle"}"#).status == 200)
        #expect(try await herald.send("PUT", "/v1/auth/42", #"{"status": "logged_in"}"#).status == 200)
        let requests = [
            ("PATCH", "/v1/delegates/\(delegate.id)", #"{"description": "one"}"#),
            ("PATCH", "/v1/apps/\(app.id)", #"{"events_per_second": 9}"#),
            ("PUT", "/v1/event-types/a.b", #"{"description": "one"}"#),
            ("PUT", "/v1/app-state", #"{"state": "busy"}"#),
            ("PUT", "/v1/auth/42", #"{"status": "logged_out"}"#),
            // Without a change, the version stays.
            ("PUT", "/v1/app-state?if_changed=true", #"{"state": "busy"}"#),
            ("PUT", "/v1/auth/42", #"{"status": "logged_out"}"#),
        ]
        for (method, path, body) in requests {
            let resource = path.replacing("?if_changed=true", with: "")
            let tag = try #require(try await herald.get(resource).header("etag"))
            let changed = try await herald.send(method, path, body, ["If-None-Match": tag])
            #expect(changed.status == 200 && !changed.body.isEmpty, "\(method) \(path): \(changed.status)")
            #expect(try await herald.get(resource).header("etag") == changed.header("etag"), "\(path)")
        }
    }

    @Test("of two clients that set the app state from the same version, also from none, one succeeds")
    func appState() async throws {
        let herald = try await HeraldProcess.start()
        for winner in [1, 3] {
            let tag = try #require(try await herald.get("/v1/app-state").header("etag"))
            for (state, status) in [(winner, 200), (winner + 1, 412)] {
                let set = try await herald.send("PUT", "/v1/app-state", #"{"state": \#(state)}"#, ["If-Match": tag])
                #expect(set.status == status, "\(state)")
            }
            #expect(try await herald.get("/v1/app-state").integer("state") == Int64(winner))
        }
        #expect(try await herald.get("/v1/events?type=app_state.changed").data.count == 2)
    }
}
