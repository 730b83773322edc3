import HeraldJSON
import HeraldReceiver
import HeraldRuntime
import HeraldTestSupport
import Testing

@Suite("Apps", .timeLimit(.minutes(20)))
struct AppTests {
    @Test("an app is created, listed, changed and deleted; everything that belongs to it ends with it")
    func life() async throws {
        let herald = try await HeraldProcess.start(adminKey: "the-admin-of-these-tests")
        #expect(try await herald.get("/v1/apps").data.map { $0["name"]?.string } == ["default"])
        let made = try await herald.post("/v1/apps", #"{"name": "shop"}"#)
        #expect(made.status == 201 && made.header("location") == "/v1/apps/\(made.id)")
        #expect(try await herald.post("/v1/apps", #"{"name": "shop"}"#).problem == "name-taken")
        #expect(try await herald.post("/v1/apps", #"{"name": "app_x", "max_delegates": -1, "x": 1}"#).errors.count == 3)
        for name in ["", ".", "..", ".a", "a b", "ä", "a/b", String(repeating: "a", count: 257)] {
            #expect(try await herald.post("/v1/apps", #"{"name": "\#(name)"}"#).errors == ["/name"], "\(name)")
        }
        let odd = try await herald.post("/v1/apps", #"{"name": "Org_2x.Eu-1"}"#)
        #expect(odd.status == 201, "\(odd.text)")
        #expect(try await herald.get("/v1/events", ["Herald-App": "Org_2x.Eu-1"]).status == 200)
        #expect(try await herald.send("DELETE", "/v1/apps/Org_2x.Eu-1").status == 204)
        #expect(try await herald.get("/v1/apps/shop").id == made.id)

        let tag = try #require(made.header("etag"))
        let patched = try await herald.send(
            "PATCH", "/v1/apps/\(made.id)", #"{"name": "store", "max_delegates": 1}"#, ["If-Match": tag])
        #expect(patched.status == 200 && patched.string("name") == "store" && patched.integer("max_delegates") == 1)
        #expect(try await herald.send("PATCH", "/v1/apps/store", "{}", ["If-Match": tag]).status == 412)
        #expect(try await herald.get("/v1/apps/shop").status == 404)

        let key = try await herald.makeKey("manage", in: "store")
        let url = #"{"url": "http://127.0.0.1:9/hook"}"#
        let delegate = try await herald.post("/v1/delegates", url, key.headers)
        #expect(delegate.status == 201)
        let full = try await herald.post("/v1/delegates", #"{"url": "http://127.0.0.1:9/other"}"#, key.headers)
        #expect(full.status == 409 && full.problem == "too-many")
        #expect(try await herald.post("/v1/delegates", url, key.headers).status == 200, "the one that is there")

        #expect(try await herald.send("DELETE", "/v1/apps/default").problem == "default-app")
        #expect(try await herald.send("DELETE", "/v1/apps/\(made.id)").status == 204)
        #expect(try await herald.get("/v1/delegates", key.headers).status == 401)
        #expect(try await herald.get("/v1/delegates", ["Herald-App": "store"]).status == 404)
        try await herald.stop()
        let next = try await herald.restart(["--admin-key-file", try herald.keyFile()])
        #expect(try await next.get("/v1/apps", MadeKey.admin.headers).data.count == 1)
        #expect(try await next.get("/v1/delegates", key.headers).status == 401)
        // The next app of this name is another one.
        let again = try await next.post("/v1/apps", #"{"name": "store"}"#, MadeKey.admin.headers)
        #expect(again.status == 201 && again.header("etag") != tag)
        let inIt = MadeKey.admin.headers.merging(["Herald-App": "store"]) { $1 }
        #expect(try await next.get("/v1/delegates", inIt).data.isEmpty)
        #expect(try await next.get("/v1/events", inIt).data.isEmpty)
    }

    @Test("an admin key acts on the app that Herald-App names; other keys act on their own app only")
    func header() async throws {
        let herald = try await HeraldProcess.start(adminKey: "the-admin-of-these-tests")
        let id = try await herald.post("/v1/apps", #"{"name": "shop"}"#).id
        let event = #"{"type": "order.paid"}"#
        for word in ["shop", id] {
            #expect(try await herald.post("/v1/events", event, ["Herald-App": word]).status == 202)
        }
        #expect(try await herald.get("/v1/events").data.isEmpty)
        #expect(try await herald.get("/v1/events", ["Herald-App": "shop"]).data.count == 2)
        #expect(try await herald.get("/v1/events", ["Herald-App": "nowhere"]).status == 404)
        let key = try await herald.makeKey("read", in: "shop")
        for (word, status) in [("shop", 200), (id, 200), ("default", 404), ("nowhere", 404)] {
            let headers = key.headers.merging(["Herald-App": word]) { $1 }
            #expect(try await herald.get("/v1/events", headers).status == status, "\(word)")
        }
        let admin = try await herald.post("/v1/keys", #"{"scopes": ["admin"], "app": "shop"}"#)
        #expect(admin.status == 422 && admin.errors == ["/scopes"])
        #expect(try await herald.post("/v1/keys", #"{"scopes": ["read"], "app": "x"}"#).errors == ["/app"])
        #expect(try await herald.get("/v1/keys").data.isEmpty)
        #expect(try await herald.get("/v1/keys", ["Herald-App": "shop"]).data.count == 1)
        #expect(try await herald.get("/metrics", key.headers).status == 403)
    }

    @Test("the numbers of the server are for readers of the app default, and not for the users of its links")
    func numbers() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let reader = try await herald.makeKey("read")
        let link = try await herald.post("/v1/portal-links", #"{"app": "default"}"#)
        let token = try #require(link.string("url")?.split(separator: "/").last)
        let stranger = HeraldProcess.stranger(to: herald)
        #expect(try await stranger.get("/metrics", reader.headers).status == 200)
        let page = ["Sec-Fetch-Site": "same-origin"]
        let opened = try await stranger.post("/v1/session", #"{"portal_link": "\#(token)"}"#, page)
        let cookie = try #require(opened.header("set-cookie")).prefix { $0 != ";" }
        let session = page.merging(["Cookie": String(cookie)]) { $1 }
        #expect(try await stranger.get("/v1/delegates", session).status == 200)
        #expect(try await stranger.get("/metrics", session).status == 403)
    }

    @Test("an app at its storage quota is refused until events are deleted; other apps are not affected")
    func stored() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let made = try await herald.post("/v1/apps", #"{"name": "trial", "max_stored_bytes": 3100}"#)
        #expect(made.status == 201 && made.integer("stored_bytes") == 0 && made.integer("stored_events") == 0)
        let trial = ["Herald-App": "trial"]
        let event = #"{"type": "a", "subject": "s", "data": "\#(String(repeating: "x", count: 900))"}"#
        for _ in 0..<3 { #expect(try await herald.post("/v1/events", event, trial).status == 202) }
        // 902 of data, 30 of its id, one each of type and subject.
        #expect(try await herald.get("/v1/apps/trial").integer("stored_bytes") == 3 * 934)
        let refused = try await herald.post("/v1/events", event, trial)
        #expect(refused.status == 409 && refused.problem == "quota-exceeded")
        #expect(refused.string("detail")?.contains("3100 bytes") == true)
        let small = try await herald.post("/v1/events", #"[{"type": "a", "data": 1}, {"type": "a"}]"#, trial)
        #expect(small.status == 202, "what fits is taken")
        let short = try await herald.send("PUT", "/v1/app-state", #"{"state": "a state that is long"}"#, trial)
        #expect((200..<300).contains(short.status), "\(short.text)")
        let state = #"{"state": "\#(String(repeating: "y", count: 200))"}"#
        #expect(try await herald.send("PUT", "/v1/app-state", state, trial).problem == "quota-exceeded")
        #expect(try await herald.post("/v1/events", event).status == 202, "another app")
        let used = try await herald.get("/v1/apps/trial")
        try await herald.kill()
        let next = try await HeraldProcess.start(folder: herald.folder, adminKey: MadeKey.admin.text)
        let again = try await next.get("/v1/apps/trial")
        for member in ["stored_bytes", "stored_events"] { #expect(used.integer(member) == again.integer(member)) }
        #expect(try await next.post("/v1/events", event, trial).status == 409)
        #expect(try await next.send("DELETE", "/v1/subjects/s", nil, trial).status == 200)
        #expect(try await next.post("/v1/events", event, trial).status == 202)
        #expect(
            try await next.send("PATCH", "/v1/apps/trial", #"{"max_stored_bytes": 0}"#).integer("max_stored_bytes") == 0
        )
        #expect(try await next.post("/v1/events", #"{"type": "a"}"#, trial).status == 409)
        _ = try await next.send("PATCH", "/v1/apps/trial", #"{"max_stored_bytes": null}"#)
        #expect(try await next.post("/v1/events", event, trial).status == 202)
    }

    @Test("a repeated event takes no room: at the storage quota the response is the one to the first")
    func repeatedAtQuota() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        #expect(try await herald.post("/v1/apps", #"{"name": "trial"}"#).status == 201)
        let trial = ["Herald-App": "trial"]
        let later = Timestamp(milliseconds: Clock.system.wall() + 3_600_000)
        let events = [
            #"{"type": "a", "id": "first", "data": "\#(String(repeating: "x", count: 900))"}"#,
            #"{"type": "a", "id": "later", "deliver_at": "\#(later)"}"#,
        ]
        for event in events { #expect(try await herald.post("/v1/events", event, trial).status == 202) }
        _ = try await herald.send("PATCH", "/v1/apps/trial", #"{"max_stored_bytes": 100}"#)

        for event in events {
            let again = try await herald.post("/v1/events", event, trial)
            #expect(again.status == 200, "\(again.text)")
        }
        let mixed = try await herald.post("/v1/events", #"[\#(events[0]), {"type": "a", "id": "new"}]"#, trial)
        #expect(mixed.status == 409 && mixed.problem == "quota-exceeded")
        #expect(try await herald.get("/v1/events", trial).data.count == 1)
    }

    @Test("an app that exceeds its rate limit is refused with Retry-After; other apps are not affected")
    func rate() async throws {
        let herald = try await HeraldProcess.start(adminKey: "the-admin-of-these-tests")
        #expect(try await herald.post("/v1/apps", #"{"name": "trial", "events_per_second": 1}"#).status == 201)
        let shop = ["Herald-App": "trial"]
        let many = "[" + Array(repeating: #"{"type": "a"}"#, count: 1000).joined(separator: ",") + "]"
        #expect(try await herald.post("/v1/events", many, shop).status == 202)
        let refused = try await herald.post("/v1/events", #"{"type": "a"}"#, shop)
        #expect(refused.status == 429 && refused.problem == "rate-limited")
        #expect(refused.header("retry-after").flatMap { Int($0) }.map { (900...1000).contains($0) } == true)
        #expect(try await herald.send("PUT", "/v1/app-state", #"{"state": "idle"}"#, shop).status == 429)
        #expect(try await herald.post("/v1/events", #"{"type": "a"}"#).status == 202)
        #expect(try await herald.get("/v1/events", shop).data.count == 50)
    }

    @Test("an app has a name, a logo, a color and a language for its links, and pages that may frame them")
    func portal() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let logo = "data:image/png;base64,iVBORw0KGgo="
        let portal =
            ##"{"title": "The shop", "logo": "\##(logo)", "color": "#0b5cad", "language": "de", "frame_origins": ["https://shop.example"]}"##
        let made = try await herald.post("/v1/apps", #"{"name": "shop", "portal": \#(portal)}"#)
        #expect(made.status == 201 && made.json["portal"]?["title"]?.string == "The shop", "\(made.text)")
        let changed = try await herald.send("PATCH", "/v1/apps/shop", #"{"portal": {"title": null}}"#)
        #expect(changed.json["portal"]?["title"]?.isNull == true && changed.json["portal"]?["logo"]?.string == logo)
        for (member, value) in [
            ("title", #""\u0007""#), ("title", #""""#),
            // One character for a reader, and 65 for a limit.
            ("title", "\"e\(String(repeating: "\u{301}", count: 64))\""), ("logo", #""https://shop.example/logo.png""#),
            ("logo", #""data:image/svg+xml;base64,PHN2Zz4=""#), ("logo", #""data:image/png;base64,AAAA""#),
            ("logo", "\"data:image/png;base64,iVBORw0K\(String(repeating: "A", count: 24_576))\""),
            ("color", #""blue""#), ("color", ##""#eeeeee""##), ("color", ##""#0b5ca""##), ("language", #""fr""#),
            ("frame_origins/0", #"["https://shop.example/"]"#), ("frame_origins/0", #"["*"]"#),
            ("frame_origins/0", #"["https://a.example; script-src *"]"#), ("frame_origins", "7"), ("size", "7"),
        ] {
            let name = member.split(separator: "/")[0]
            let response = try await herald.send("PATCH", "/v1/apps/shop", #"{"portal": {"\#(name)": \#(value)}}"#)
            #expect(response.status == 422 && response.errors == ["/portal/\(member)"], "\(value): \(response.text)")
        }

        func policy(_ path: String) async throws -> String {
            try await herald.get(path).header("content-security-policy") ?? ""
        }
        let shown = "/?portal=\(try #require(made.string("id")))"
        let own = try await policy(shown)
        #expect(own.contains("frame-ancestors https://shop.example;") && own.contains("img-src 'self' data:;"))
        // A browser that has the page must get another policy with it: not all take it from a 304.
        let tag = try #require(try await herald.get(shown).header("etag"))
        #expect(try await herald.get(shown, ["If-None-Match": tag]).status == 304)
        let reframed = #"{"portal": {"frame_origins": ["https://other.example"]}}"#
        #expect(try await herald.send("PATCH", "/v1/apps/shop", reframed).status == 200)
        #expect(try await herald.get(shown, ["If-None-Match": tag]).status == 200)
        let unframed = try await policy("/")
        #expect(unframed.contains("frame-ancestors 'none'") && !unframed.contains("data:"))
        // A name can be guessed.
        for path in ["/?portal=shop", "/?portal=default", "/?portal=nowhere", "/dashboard/app.js"] {
            #expect(try await policy(path) == unframed, "\(path)")
        }
        let link = try await herald.post("/v1/portal-links", #"{"app": "shop"}"#)
        let token = try #require(link.string("url")?.split(separator: "/").last)
        let stranger = HeraldProcess.stranger(to: herald)
        let page = ["Origin": "https://127.0.0.1:\(herald.port)"]
        let opened = try await stranger.post("/v1/session", #"{"portal_link": "\#(token)"}"#, page)
        let cookie = try #require(opened.header("set-cookie"))
        #expect(cookie.contains("HttpOnly; SameSite=None; Partitioned; Secure"), "\(cookie)")
        let session = ["Cookie": String(cookie.prefix { $0 != ";" }), "Sec-Fetch-Site": "same-origin"]
        let seen = try await stranger.get("/v1/session", session).json
        #expect(seen["appearance"]?["color"]?.string == "#0b5cad" && seen["portal"]?.bool == true)
        let foreign = session.merging(["Sec-Fetch-Site": "cross-site"]) { $1 }
        #expect(try await stranger.get("/v1/delegates", session).status == 200)
        #expect(try await stranger.get("/v1/delegates", foreign).status == 401, "another page has the cookie sent")
        let closed = try await stranger.send("DELETE", "/v1/session", nil, session.merging(page) { $1 })
        #expect(closed.headers.contains { $0.value.contains("=; ") && $0.value.contains("; Partitioned;") })

        try await herald.kill()
        let next = try await HeraldProcess.start(folder: herald.folder, adminKey: MadeKey.admin.text)
        let again = try await next.get("/v1/apps/shop").json["portal"]
        #expect(again?["logo"]?.string == logo && again?["language"]?.string == "de")
        #expect(again?["frame_origins"]?.elements.compactMap(\.string) == ["https://other.example"])
    }
}
