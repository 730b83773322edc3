import HeraldAPI
import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Pages of other sites", .timeLimit(.minutes(20)))
struct OriginTests {
    private static let elsewhere: [[String: String]] = [
        ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Sec-Fetch-Site": "unheard-of"],
        ["Origin": "https://evil.example"], ["Origin": "null"], ["Origin": "http://127.0.0.1:1"],
        ["Origin": "http://127.0.0.1.evil.example"],
        ["Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"],
    ]

    /// Every kind of request that changes something; most have no body, and so need no content type.
    private static func changes(_ delegate: String, _ event: String) -> [(String, String, String?)] {
        [
            ("POST", "/v1/delegates/\(delegate)/pause", nil), ("POST", "/v1/delegates/\(delegate)/resume", nil),
            ("POST", "/v1/delegates/\(delegate)/test", nil),
            ("POST", "/v1/delegates/\(delegate)/secret/rotate", nil),
            ("POST", "/v1/events/\(event)/redeliver", nil),
            ("POST", "/v1/deliveries/cancel?delegate=\(delegate)", nil), ("DELETE", "/v1/delegates/\(delegate)", nil),
            ("DELETE", "/v1/session", nil), ("POST", "/v1/events", #"{"type": "order.paid"}"#),
            ("PATCH", "/v1/delegates/\(delegate)", #"{"description": "theirs"}"#),
            ("PUT", "/v1/app-state", #"{"state": "idle"}"#), ("POST", "/v1/nothing/here", nil),
        ]
    }

    @Test("changes from a page of another site are refused, with and without keys")
    func refused() async throws {
        for adminKey in [nil, MadeKey.admin.text] {
            let herald = try await HeraldProcess.start(adminKey: adminKey)
            let delegate = try await herald.register("http://127.0.0.1:9/", #""events": ["never.*"]"#).id
            let event = try await herald.publish("order.paid")
            let before = try await herald.get("/v1/delegates/\(delegate)").text
            for headers in Self.elsewhere {
                for (method, path, body) in Self.changes(delegate, event) {
                    let answer = try await herald.send(method, path, body, headers)
                    #expect(answer.status == 403 && answer.problem == "foreign-origin", "\(method) \(path) \(headers)")
                    #expect(answer.header("access-control-allow-origin") == nil)
                }
                // Reading changes nothing, and no page elsewhere is let see the answer.
                let read = try await herald.get("/v1/events", headers)
                #expect(read.status == 200 && read.header("access-control-allow-origin") == nil, "\(headers)")
                let asked = try await herald.send("OPTIONS", "/v1/events", nil, headers)
                #expect(asked.status == 204 && asked.header("access-control-allow-methods") == nil, "\(headers)")
            }
            #expect(try await herald.get("/v1/delegates/\(delegate)").text == before)
            #expect(try await herald.get("/v1/events").data.count == 1)
        }
    }

    @Test("the body of a foreign request is not awaited")
    func unread() async throws {
        let herald = try await HeraldProcess.start()
        let answer = try await herald.sendRaw(
            "POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://evil.example\r\n"
                + "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n")
        #expect(answer.status == 403 && answer.header("connection") == "close")
    }

    @Test("programs, people and the dashboard may make changes, also through a proxy that forwards Host")
    func allowed() async throws {
        let herald = try await HeraldProcess.start(["--allowed-hosts", "127.0.0.1,herald.example,[::1]"])
        let own = "127.0.0.1:\(herald.port)"
        let cases: [[String: String]] = [
            [:], ["Sec-Fetch-Site": "same-origin"], ["Sec-Fetch-Site": "none"], ["Origin": "http://\(own)"],
            // TLS ends at the proxy.
            ["Host": "herald.example", "Origin": "https://herald.example"],
            ["Host": "herald.example", "Origin": "https://Herald.example", "Sec-Fetch-Site": "same-origin"],
            ["Host": "herald.example:443", "Origin": "https://herald.example"],
            ["Host": "herald.example:80", "Origin": "http://herald.example"],
            ["Host": "herald.example:8443", "Origin": "https://herald.example:8443"],
            ["Host": "[::1]:8080", "Origin": "http://[::1]:8080"],
            // One that sets Host to what it likes: the browser's own word is enough.
            ["Host": "127.0.0.1:9", "Origin": "https://herald.example", "Sec-Fetch-Site": "same-origin"],
        ]
        for headers in cases {
            let answer = try await herald.post("/v1/events", #"{"type": "order.paid"}"#, headers)
            #expect(answer.status == 202, "\(headers) \(answer.text)")
        }
        for headers in [
            ["Host": "herald.example:80", "Origin": "https://herald.example"],
            ["Host": "herald.example", "Origin": "https://herald.example:8443"],
        ] {
            #expect(try await herald.post("/v1/events", #"{"type": "a"}"#, headers).status == 403, "\(headers)")
        }
    }

    @Test("pages of allowed origins may use the API, and no others")
    func named() async throws {
        let herald = try await HeraldProcess.start(
            ["--cors-origins", "https://shop.example, http://localhost:3000"], adminKey: MadeKey.admin.text)
        let shop = ["Origin": "https://shop.example", "Sec-Fetch-Site": "cross-site"]
        let preflight = ["Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"]

        let asked = try await HeraldProcess.stranger(to: herald).send(
            "OPTIONS", "/v1/events", nil, shop.merging(preflight) { $1 })
        #expect(asked.status == 204 && asked.header("access-control-allow-origin") == "https://shop.example")
        #expect(asked.header("access-control-allow-methods")?.contains("POST") == true)
        #expect(asked.header("access-control-allow-headers")?.contains("Authorization") == true)
        #expect(asked.header("access-control-allow-credentials") == nil && asked.header("vary") == "Origin")

        let posted = try await herald.post("/v1/events", #"{"type": "order.paid"}"#, shop)
        #expect(posted.status == 202 && posted.header("access-control-allow-origin") == "https://shop.example")
        #expect(posted.header("access-control-expose-headers") == "*")
        // What is wrong is for the page to read, too.
        for answer in [
            try await herald.post("/v1/events", "{}", shop), try await herald.get("/v1/nothing", shop),
            try await HeraldProcess.stranger(to: herald).get("/v1/events", shop),
        ] {
            #expect(answer.status >= 400 && answer.header("access-control-allow-origin") == "https://shop.example")
        }
        // Also what the HTTP server refuses before the service sees it.
        let fields = "Origin: https://shop.example\r\nContent-Length"
        for (head, status) in [
            ("Host: localhost\r\n\(fields): 999999999", 413), ("Host: evil.example\r\n\(fields): 2", 421),
            ("Host: localhost\r\nExpect: wonders\r\n\(fields): 2", 417),
        ] {
            let refused = try await herald.sendRaw("POST /v1/events HTTP/1.1\r\n\(head)\r\n\r\n")
            #expect(refused.status == status && refused.header("access-control-allow-origin") == "https://shop.example")
        }
        // Its cookie is the dashboard's, for every name of the host.
        let signIn = try await herald.post("/v1/session", #"{"key": "\#(MadeKey.admin.text)"}"#, shop)
        #expect(signIn.status == 403 && signIn.header("set-cookie") == nil)

        for origin in ["https://evil.example", "https://shop.example:8443", "http://shop.example", "null"] {
            let headers = ["Origin": origin, "Sec-Fetch-Site": "cross-site"]
            let refused = try await herald.post("/v1/events", #"{"type": "order.paid"}"#, headers)
            #expect(refused.status == 403 && refused.header("access-control-allow-origin") == nil, "\(origin)")
            let asked = try await herald.send("OPTIONS", "/v1/events", nil, headers.merging(preflight) { $1 })
            #expect(asked.header("access-control-allow-origin") == nil && asked.header("vary") == "Origin", "\(origin)")
        }
        #expect(try await herald.get("/v1/events").header("vary") == "Origin")
    }

    @Test(
        "an origin must be written exactly as browsers do",
        arguments: [
            ("https://shop.example", true), ("http://localhost:3000", true), ("http://127.0.0.1:8081", true),
            ("http://[::1]:3000", true), ("http://[::1]", true), ("chrome-extension://abcdefgh", true),
            ("*", false), ("null", false), ("", false), ("https://shop.example/", false),
            ("https://shop.example/path", false), ("https://Shop.example", false), ("shop.example", false),
            ("https://shop.example:443", false), ("http://shop.example:80", false), ("https://shop.example:", false),
            ("https://shop.example:0443", false), ("https://*.shop.example", false), ("https://", false),
            ("://shop.example", false), ("https://user@shop.example", false), ("https://shop example", false),
            ("https://[::1", false), ("https:shop.example", false),
        ])
    func exact(_ text: String, _ isOne: Bool) {
        #expect(OriginRules.isOrigin(text) == isOne)
    }

    @Test("an origin that no browser would send is refused at the start")
    func wrongSetting() async throws {
        let result = try await Binary.run(["serve", "--cors-origins", "https://shop.example, *"])
        #expect(result.end == .exited(64))
        #expect(result.text.contains("\"*\" is none") && result.text.contains("https://shop.example"), "\(result.text)")
    }
}
