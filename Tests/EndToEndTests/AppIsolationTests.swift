import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

/// Two apps on one server: `owner` has everything there is, `stranger` has a key that may do everything a key of an app can.
///
/// The operations come from the description of the API, so that a new one can't be forgotten.
@Suite("Apps are isolated from each other", .timeLimit(.minutes(20)))
struct AppIsolationTests {
    enum Access: CaseIterable {
        case key, portalSession, readingSession

        /// The `x-scope` of the operations that are allowed; a session may do nothing else.
        var scopes: [String] {
            switch self {
            case .key: ["publish", "manage", "read", "consume"]
            case .portalSession: ["manage", "read", "consume"]
            case .readingSession: ["read"]
            }
        }
    }

    @Test(
        "every operation with ids of another app finds nothing, reveals nothing and changes nothing",
        arguments: Access.allCases)
    func operations(_ access: Access) async throws {
        let scene = try await Scene()
        let (client, credentials) = try await scene.client(access)
        let before = try await scene.snapshot()
        let specification = try await scene.herald.get("/openapi.json").json
        var (tried, forbidden) = (0, 0)
        for (path, item) in try #require(specification["paths"]).members {
            for (method, operation) in item.members where method != "parameters" {
                // A stream never ends; it has a test of its own below.
                if operation["responses"]?["200"]?["content"]?["text/event-stream"] != nil { continue }
                guard operation["security"].map({ $0.count > 0 }) == true else { continue }
                let target = scene.path(path) + scene.query(operation)
                for (body, type) in scene.bodies(operation) {
                    var headers = credentials
                    if let type { headers["Content-Type"] = type }
                    let answer = try await client.send(method.uppercased(), target, body, headers)
                    let place: Comment = "\(method) \(target) \(body ?? ""): \(answer.status) \(answer.text)"
                    // What is sent beside the examples need not be right everywhere: then it isn't looked up at all.
                    let refusals = body == scene.extraBody ? [403, 404, 422] : [403, 404]
                    if path.contains("{id}") { #expect(refusals.contains(answer.status), place) }
                    if let scope = operation["x-scope"]?.string, !access.scopes.contains(scope) {
                        #expect(answer.problem == "forbidden", place)
                        forbidden += 1
                    }
                    for mark in scene.marks where !target.contains(mark) && body?.contains(mark) != true {
                        #expect(!answer.text.contains(mark), place)
                        #expect(!answer.headers.contains { $0.value.contains(mark) }, place)
                    }
                    tried += 1
                }
            }
        }
        #expect(tried > 45 && forbidden > 10)
        #expect(try await scene.snapshot() == before)
        _ = try await scene.herald.deliveries(of: scene.event, "delivered", "retrying", headers: scene.owner.headers)
    }

    @Test("each app has its own ids, addresses, idempotency keys, states and types")
    func names() async throws {
        let scene = try await Scene()
        let headers = scene.stranger.headers
        let event = #"{"type": "order.paid", "id": "\#(Scene.ownID)"}"#
        #expect(try await scene.herald.post("/v1/events", event, headers).status == 202)
        let keyed = headers.merging(["Idempotency-Key": "once"]) { $1 }
        let answer = try await scene.herald.post("/v1/events", #"{"type": "order.other"}"#, keyed)
        #expect(answer.status == 202 && answer.header("idempotent-replayed") == nil)
        let url = #"{"url": "\#(scene.receiver.url("/owner-hook"))", "events": ["never.*"]}"#
        #expect(try await scene.herald.post("/v1/delegates", url, headers).status == 201)
        #expect(try await scene.herald.get("/v1/app-state", headers)["state"]?.isNull == true)
        #expect(try await scene.herald.get("/v1/auth/42", headers).string("status") == "unknown")
        #expect(try await scene.herald.get("/v1/event-types", headers).data.isEmpty)
        let state = try await scene.herald.get("/v1/app-state", scene.owner.headers)
        let tag = try #require(state.header("etag"))
        let lost = try await scene.herald.send(
            "PUT", "/v1/app-state", #"{"state": "mine"}"#, headers.merging(["If-Match": tag]) { $1 })
        #expect(lost.status == 412)
        // Its schema would refuse this.
        #expect(try await scene.herald.post("/v1/events", #"{"type": "\#(Scene.type)"}"#, headers).status == 202)
        #expect(
            try await scene.herald.post("/v1/events", #"{"type": "\#(Scene.type)"}"#, scene.owner.headers).status == 422
        )
        let dry = try await scene.herald.post("/v1/events?dry_run=true", #"{"type": "order.paid"}"#, headers)
        #expect(dry.integer("matching") == 0 && dry.integer("not_matching") == 1)
        #expect(try await scene.herald.get("/v1/delegates?event=order.paid", headers).data.isEmpty)
        let keys = try await scene.herald.get("/.well-known/jwks.json?app=\(scene.strangerApp)")
        #expect(keys["keys"]?.count == 0)
        #expect(try await scene.herald.get("/.well-known/jwks.json?app=\(scene.ownerApp)")["keys"]?.count == 1)
        #expect(try await scene.herald.get("/.well-known/jwks.json?app=owner").status == 404)
    }

    @Test("callbacks and streams contain only the events of their app")
    func deliveries() async throws {
        let scene = try await Scene()
        let herald = scene.herald
        let (port, key) = (herald.port, scene.stranger)
        let listener = try await RawHTTP.onThread {
            Box(try StreamClient(port: port, lastEventID: scene.event, key: key.text))
        }
        let first = try #require(try await RawHTTP.onThread { try listener.value.next() })
        #expect(first.name == "reset" && first.id != scene.event)
        let body = #"{"url": "\#(scene.receiver.url("/stranger"))"}"#
        let delegate = try await herald.post("/v1/delegates", body, key.headers)
        #expect(delegate.status == 201)
        #expect(try await herald.post("/v1/events", #"{"type": "order.paid"}"#, scene.owner.headers).status == 202)
        let own = try await herald.post("/v1/events", #"{"type": "order.paid"}"#, key.headers).id
        #expect(try await RawHTTP.onThread { try listener.value.next() }?.id == own)
        _ = try await herald.deliveries(of: own, "delivered", headers: key.headers)
        let told = scene.receiver.requests.filter { $0.path == "/stranger" }
        #expect(told.compactMap { $0.header("webhook-id") } == [own])

        // A place of another app is none.
        let place = try #require(first.id)
        try await RawHTTP.onThread {
            let theirs = try StreamClient(port: port, lastEventID: place, key: scene.owner.text)
            #expect(try theirs.next()?.name == "reset")
            let again = try StreamClient(port: port, lastEventID: place, key: key.text)
            #expect(try again.next()?.name == "ready")
        }

        // What an app has ends with it.
        #expect(try await herald.send("DELETE", "/v1/apps/\(scene.strangerApp)").status == 204)
        #expect(try await RawHTTP.onThread { try listener.value.next() } == nil)
        #expect(try await herald.get("/v1/delegates", scene.owner.headers).data.count == 2)
    }
}

extension AppIsolationTests {
    @Test("no number, tag or list of an app changes when another app publishes a thousand events")
    func numbers() async throws {
        let scene = try await Scene()
        let herald = scene.herald
        let headers = scene.stranger.headers
        let url = #"{"url": "\#(scene.receiver.url("/stranger"))", "events": ["own.*"]}"#
        let delegate = try await herald.post("/v1/delegates", url, headers).id
        for number in 0..<5 {
            let body = #"{"type": "own.event", "id": "own-\#(number)"}"#
            #expect(try await herald.post("/v1/events", body, headers).status == 202)
        }
        _ = try await herald.get("/v1/delegates/\(delegate)/attempts", headers) { $0.data.count == 5 }
        #expect(try await herald.post("/v1/delegates/\(delegate)/pause", "", headers).status == 200)
        for number in 5..<8 {
            let body = #"{"type": "own.event", "id": "own-\#(number)"}"#
            #expect(try await herald.post("/v1/events", body, headers).status == 202)
        }
        let waiting = "/v1/deliveries?state=pending&delegate=\(delegate)"
        let paths = [
            "/v1/events", "/v1/events?limit=2", "/v1/delegates/\(delegate)", "/v1/delegates?limit=1",
            "/v1/delegates/\(delegate)/attempts?limit=2", waiting + "&limit=2", "/v1/deliveries",
            "/v1/deliveries?state=pending&limit=2",
            "/v1/event-types", "/v1/app-state", "/v1/auth/42", "/v1/events/own-0", "/v1/events/own-7",
        ]
        // The lane has seen them.
        _ = try await herald.get("/v1/delegates/\(delegate)", headers) { $0.text.contains(#""lag":{"events":3,"#) }
        _ = try await herald.get(waiting, headers) { $0.data.count == 3 }
        func shown() async throws -> [String] {
            var all: [String] = []
            for path in paths {
                let answer = try await herald.get(path, headers)
                #expect(answer.status == 200, "\(path): \(answer.text)")
                all.append(path + " " + (answer.header("etag") ?? "") + answer.text)
            }
            let replay = try await herald.post("/v1/delegates/\(delegate)/replay", #"{"from": "earliest"}"#, headers)
            all.append("\(replay.integer("events") ?? -1)")
            let app = try await herald.get("/v1/apps/\(scene.strangerApp)")
            all.append("\(app.integer("stored_bytes") ?? -1) \(app.integer("stored_events") ?? -1)")
            return all
        }
        let before = try await shown()
        #expect(before.dropLast().last == "8")
        let many = "[" + Array(repeating: #"{"type": "order.other"}"#, count: 1_000).joined(separator: ",") + "]"
        #expect(try await herald.post("/v1/events", many, scene.owner.headers).status == 202)
        let after = try await shown()
        for (one, other) in zip(before, after) { #expect(one == other) }
    }

    @Test("a cursor of another app, or of another list, is invalid")
    func cursors() async throws {
        let scene = try await Scene()
        let herald = scene.herald
        for id in ["own-1", "own-2"] {
            let body = #"{"type": "order.paid", "id": "\#(id)"}"#
            #expect(try await herald.post("/v1/events", body, scene.stranger.headers).status == 202)
        }
        for path in [
            "/v1/events?limit=1", "/v1/delegates/\(scene.delegate)/attempts?limit=1", "/v1/deliveries?limit=1",
        ] {
            _ = try await herald.post("/v1/events", #"{"type": "order.paid"}"#, scene.owner.headers)
            let page = try await herald.get(path, scene.owner.headers) { $0.string("next_cursor") != nil }
            let cursor = try #require(page.string("next_cursor"))
            #expect(try await herald.get(path + "&cursor=\(cursor)", scene.owner.headers).status == 200)
            let own = path.replacing(scene.delegate, with: "x")
            let refused = try await herald.get(own + "&cursor=\(cursor)", scene.stranger.headers)
            #expect([404, 422].contains(refused.status) && refused.data.isEmpty, "\(path): \(refused.text)")
        }
        let page = try await herald.get("/v1/events?limit=1", scene.stranger.headers)
        let cursor = try #require(page.string("next_cursor"))
        let attempts = "/v1/delegates/\(scene.delegate)/attempts?cursor=\(cursor)"
        #expect(try await herald.get(attempts, scene.owner.headers).errors == ["cursor"])
        for cursor in ["5", "0", cursor.lowercased(), cursor + "A", ""] {
            #expect(try await herald.get("/v1/events?cursor=\(cursor)", scene.stranger.headers).errors == ["cursor"])
        }
    }
}

/// The objects that the tests begin with.
private final class Scene: Sendable {
    static let ownID = "the-owner-s-own-id"
    static let type = "owner.secret_type"

    let herald: HeraldProcess
    let receiver: Receiver
    let ownerApp, strangerApp: String
    let owner, stranger: MadeKey
    /// The owner's objects.
    let delegate, event, key: String

    init() async throws {
        herald = try await HeraldProcess.start(adminKey: "the-admin-of-these-tests")
        receiver = try Receiver { $0.path.hasPrefix("/owner-broken") ? .status(503) : .status(204) }
        ownerApp = try await herald.post("/v1/apps", #"{"name": "owner"}"#).id
        strangerApp = try await herald.post("/v1/apps", #"{"name": "stranger"}"#).id
        owner = try await herald.makeKey("publish\", \"manage", in: "owner")
        stranger = try await herald.makeKey("publish\", \"manage", in: "stranger")
        key = owner.id
        let headers = owner.headers
        let hook =
            #"{"url": "\#(receiver.url("/owner-hook"))", "events": ["order.*"], "signature": "v1a", "lease_seconds": 3600}"#
        delegate = try await herald.post("/v1/delegates", hook, headers).id
        let broken =
            #"{"url": "\#(receiver.url("/owner-broken"))", "events": ["order.*"], "description": "owner-secret"}"#
        _ = try await herald.post("/v1/delegates", broken, headers)
        let schema =
            #"{"schema": {"type": "object", "required": ["amount"]}, "check": "enforce", "description": "owner-secret"}"#
        _ = try await herald.send("PUT", "/v1/event-types/\(Self.type)", schema, headers)
        _ = try await herald.send("PUT", "/v1/app-state", #"{"state": "owner-secret"}"#, headers)
        _ = try await herald.send(
            "PUT", "/v1/auth/42", #"{"status": "logged_in", "user": {"id": 42, "n": "owner-secret"}}"#, headers)
        _ = try await herald.post("/v1/events", #"{"type": "a", "id": "\#(Self.ownID)"}"#, headers)
        event = try await herald.post(
            "/v1/events", #"{"type": "order.paid", "subject": "owner-subject", "data": "owner-secret"}"#,
            headers.merging(["Idempotency-Key": "once"]) { $1 }
        ).id
        _ = try await herald.deliveries(of: event, "delivered", "retrying", headers: headers)
    }

    deinit { receiver.close() }

    /// A client of the stranger, with the headers of its requests.
    func client(_ access: AppIsolationTests.Access) async throws -> (HeraldProcess, [String: String]) {
        let secret: String
        switch access {
        case .key: return (herald, stranger.headers)
        case .portalSession:
            let link = try await herald.post("/v1/portal-links", #"{"app": "stranger"}"#)
            let token = try #require(link.string("url")?.split(separator: "/").last)
            secret = #"{"portal_link": "\#(token)"}"#
        case .readingSession:
            let reader = try await herald.makeKey("read", in: "stranger")
            secret = #"{"key": "\#(reader.text)"}"#
        }
        let client = HeraldProcess.stranger(to: herald)
        let page = ["Sec-Fetch-Site": "same-origin"]
        let opened = try await client.post("/v1/session", secret, page)
        let cookie = try #require(opened.header("set-cookie"))
        return (client, page.merging(["Cookie": String(cookie.prefix { $0 != ";" })]) { $1 })
    }

    /// The values that no other app may see.
    var marks: [String] {
        [
            "owner-secret", "owner-subject", Self.type, Self.ownID, delegate, event, key, ownerApp, "/owner-hook",
            "/owner-broken",
            owner.text,
        ]
    }

    /// The path with the owner's ids.
    func path(_ template: String) -> String {
        let ids = ["delegates": delegate, "events": event, "keys": key, "apps": ownerApp]
        let collection = template.split(separator: "/").dropFirst().first.map(String.init) ?? ""
        return template.replacing("{id}", with: ids[collection] ?? "x").replacing("{type}", with: Self.type)
            .replacing("{user_id}", with: "42").replacing("{subject}", with: "owner-subject")
    }

    /// The owner's ids wherever a parameter takes one.
    func query(_ operation: JSONValue) -> String {
        let known = ["delegate": delegate, "event": event, "subject": "owner-subject", "all": "true"]
        let names = (operation["parameters"].map { Array($0.elements) } ?? []).compactMap { parameter -> String? in
            if let name = parameter["name"]?.string { return name }
            let words = parameter["$ref"]?.string?.split(separator: "/").last ?? ""
            return ["DeliveriesOfDelegate": "delegate", "DeliveriesOfEvent": "event"][words]
        }
        // The list of delegates has an `event` of its own kind: a type.
        let pairs = names.compactMap { name in known[name].map { "\(name)=\($0)" } }
        let isTypes = operation["operationId"]?.string == "listDelegates"
        return pairs.isEmpty ? "" : "?" + (isTypes ? "event=order.paid" : pairs.joined(separator: "&"))
    }

    /// Each example of a body, and none where there need not be one.
    func bodies(_ operation: JSONValue) -> [(body: String?, type: String?)] {
        guard let content = operation["requestBody"]?["content"] else { return [(nil, nil)] }
        var bodies: [(String?, String?)] = []
        for (type, media) in content.members {
            guard let examples = media["examples"] else { continue }
            for (_, example) in examples.members {
                if let value = example["value"] { bodies.append((String(decoding: value.bytes, as: UTF8.self), type)) }
            }
        }
        bodies.append((extraBody, "application/json"))
        return bodies
    }

    /// Names what is the owner's, where a body can.
    var extraBody: String { #"{"delegate": "\#(delegate)"}"# }

    /// The owner's objects, without fields that change with time.
    func snapshot() async throws -> [String] {
        var found: [String] = []
        for path in [
            "/v1/events", "/v1/event-types", "/v1/app-state", "/v1/auth/42", "/v1/event-types/\(Self.type)",
            "/v1/deliveries?state=exhausted", "/v1/deliveries?state=dropped",
        ] {
            found.append(try await herald.get(path, owner.headers).text)
        }
        let delegates = try await herald.get("/v1/delegates", owner.headers)
        found += delegates.data.map {
            "\($0["id"]?.string ?? "") \($0["updated_at"]?.string ?? "") \($0["url"]?.string ?? "")"
        }
        return found
    }
}
