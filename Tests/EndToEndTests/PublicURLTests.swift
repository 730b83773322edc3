import HeraldAPI
import HeraldJSON
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("The public URL", .timeLimit(.minutes(20)))
struct PublicURLTests {
    private let url = "https://example.com/herald"

    private func start(_ folder: TemporaryFolder = TemporaryFolder(), at url: String?) async throws -> HeraldProcess {
        try await HeraldProcess.start(
            folder: folder, url.map { ["--public-url", $0] } ?? [], adminKey: MadeKey.admin.text)
    }

    @Test("begins every Location and Link, which lead to a resource and to the next page")
    func locations() async throws {
        let herald = try await start(at: url + "/")
        let made = [
            try await herald.post("/v1/delegates", #"{"url": "http://127.0.0.1:9/"}"#),
            try await herald.post("/v1/apps", #"{"name": "shop"}"#),
            try await herald.post("/v1/keys", #"{"name": "one", "scopes": ["read"]}"#),
            try await herald.send("PUT", "/v1/event-types/order.paid", #"{"description": "Paid."}"#),
        ]
        for answer in made {
            let location = try #require(answer.header("location"), "\(answer.text)")
            #expect(location.hasPrefix(url + "/v1/"))
            // The proxy removes the path.
            let read = try await herald.get(String(location.dropFirst(url.count)))
            #expect(read.status == 200, "\(location)")
        }
        _ = try await herald.post("/v1/apps", #"{"name": "other"}"#)
        let link = try #require(try await herald.get("/v1/apps?limit=1").header("link"))
        #expect(link.hasPrefix("<\(url)/v1/apps?limit=1&cursor=") && link.hasSuffix(">; rel=\"next\""))
        let next = link.dropFirst(1 + url.count).prefix { $0 != ">" }
        #expect(try await herald.get(String(next)).data.first?["name"]?.string == "shop")
    }

    @Test("begins the Location of a repeated request even if it was not known at the first one")
    func repeated() async throws {
        let folder = TemporaryFolder()
        let headers = ["Idempotency-Key": "first"]
        let first = try await start(folder, at: nil)
        let made = try await first.post("/v1/apps", #"{"name": "shop"}"#, headers)
        let path = try #require(made.header("location"))
        #expect(path.hasPrefix("/v1/apps/"))
        try await first.stop()
        for other in [url, "http://localhost:8443"] {
            let herald = try await start(folder, at: other)
            let again = try await herald.post("/v1/apps", #"{"name": "shop"}"#, headers)
            #expect(again.header("idempotent-replayed") == "true" && again.header("location") == other + path)
            try await herald.stop()
        }
    }

    @Test("is the path of the cookie, which is secure over https, at sign-in and at sign-out")
    func cookies() async throws {
        for (url, path, isSecure) in [
            (url, "/herald", true), ("http://example.com/a/b/", "/a/b", false), ("https://example.com:8443", "/", true),
        ] {
            let herald = try await start(at: url)
            let key = #"{"key": "\#(MadeKey.admin.text)"}"#
            let fields = ["Sec-Fetch-Site": "same-origin", "Host": "example.com"]
            let opened = try await herald.post("/v1/session", key, fields)
            let closed = try await herald.send("DELETE", "/v1/session", nil, fields)
            for answer in [opened, closed] {
                let cookie = try #require(answer.header("set-cookie"), "\(answer.text)")
                #expect(cookie.contains("; Path=\(path); ") && cookie.hasSuffix("; Secure") == isSecure, "\(cookie)")
            }
            // Its host is served on loopback, and no other one.
            #expect(try await herald.get("/v1/session", ["Host": "example.org"]).status == 421)
        }
    }

    @Test("begins portal links, also those of the command line, and is the server of the API description")
    func links() async throws {
        let herald = try await start(at: url)
        _ = try await herald.post("/v1/apps", #"{"name": "shop"}"#)
        let link = try await herald.post("/v1/portal-links", #"{"app": "shop"}"#)
        let token = try #require(link.string("url")?.split(separator: "/").last)
        #expect(link.string("url") == "\(url)/?portal=\(link.string("app") ?? "")#/portal/\(token)")
        let session = #"{"portal_link": "\#(token)"}"#
        #expect(try await herald.post("/v1/session", session, ["Sec-Fetch-Site": "same-origin"]).status == 204)
        let environment = ["HERALD_SERVER": herald.url, "HERALD_KEY": MadeKey.admin.text]
        let printed = try await Binary.run(["apps", "link", "shop"], environment: environment)
        #expect(printed.text.hasPrefix(url + "/?portal=app_"), "\(printed.text)")

        let json = try await herald.get("/openapi.json").json
        #expect(json["servers"]?.elements.compactMap { $0["url"]?.string } == [url])
        let known = try JSONDocument(parsing: APIDescription.json, limits: JSONLimits(values: 200_000)).root
        #expect(json.members.map(\.key) == known.members.map(\.key))
        let yaml = try await herald.get("/openapi.yaml").text
        let servers = "\nservers:\n  - url: \(url)\n    description: The URL at which clients reach this server.\n"
        #expect(yaml.contains(servers))
        let lines = String(decoding: APIDescription.yaml, as: UTF8.self).split(separator: "\n")
        #expect(zip(yaml.split(separator: "\n"), lines).count { $0 != $1 } == 2)
    }

    @Test(
        "must be an absolute URL of http or https, and the error says what is wrong",
        arguments: [
            ("", "must begin with https:// or http://"), ("/herald", "must begin with https:// or http://"),
            ("example.com/herald", "must begin with https:// or http://"),
            ("ftp://example.com", "must begin with https:// or http://"),
            ("https://example.com/herald?a=1", "must not contain a query"),
            ("https://example.com/herald#/", "must not contain a fragment"),
            ("https://user:word@example.com/", "must not contain a user name or password"),
            ("https://example.com/a;Path=/", "must not contain a semicolon"),
            ("https:///herald", "must name a host"), ("https://example.com:99999/", "port"),
            ("https://example.com/a b", "visible ASCII characters"), ("https://example.com/\r\nA: b", "visible ASCII"),
        ])
    func refused(text: String, words: String) {
        // A password is not shown.
        let shown = text.contains(":word@") ? "***" : text
        #expect {
            try Settings(arguments: ["--public-url", text], environment: [:])
        } throws: { error in
            "\(error)".hasPrefix("--public-url is \"\(shown)\"") && "\(error)".contains(words)
        }
    }

    @Test("has a host, a path, and no slash at the end")
    func parts() throws {
        for (text, base, path, host) in [
            ("HTTPS://Example.com:443/Herald//", "https://example.com/Herald", "/Herald", "example.com"),
            ("http://[::1]:8080", "http://[::1]:8080", "", "[::1]"),
            ("https://example.com./a/../b/c/", "https://example.com/b/c", "/b/c", "example.com"),
            ("https://example.com/", "https://example.com", "", "example.com"),
        ] {
            let settings = try Settings(arguments: [], environment: ["HERALD_PUBLIC_URL": text])
            let url = try #require(settings.publicURL)
            #expect(url.base == base && url.path == path && url.host == host, "\(url)")
            #expect(settings.servedHosts.contains(host))
        }
    }
}
