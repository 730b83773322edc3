import HeraldJSON
import HeraldTestSupport
import Testing

/// Two nodes on one database, behind a load balancer that sends each request to the next node.
@Suite("Sessions behind a load balancer", .timeLimit(.minutes(20)))
struct BalancedSessionTests {
    /// Like a load balancer, it sends the same `Host` to all nodes.
    private struct Balancer {
        var nodes: [HeraldProcess]
        private var turn = 0

        init(_ nodes: [HeraldProcess]) { self.nodes = nodes }

        mutating func send(
            _ method: String, _ path: String, _ body: String? = nil, _ headers: [String: String] = [:]
        ) async throws -> Answer {
            defer { turn += 1 }
            let fields = ["Host": "127.0.0.1:8080", "Sec-Fetch-Site": "same-origin"].merging(headers) { $1 }
            return try await HeraldProcess.stranger(to: nodes[turn % nodes.count]).send(method, path, body, fields)
        }
    }

    /// Signs in and reads the session and a list, as the dashboard does: three requests, so that each node gets the first one
    /// in turn.
    /// - Returns: the headers of the session; `nil` if a request did not succeed.
    private func signIn(_ balancer: inout Balancer, _ body: String) async throws -> [String: String]? {
        let opened = try await balancer.send("POST", "/v1/session", body)
        guard opened.status == 204, let cookie = opened.header("set-cookie") else { return nil }
        let headers = ["Cookie": String(cookie.prefix { $0 != ";" })]
        let session = try await balancer.send("GET", "/v1/session", nil, headers)
        guard session["signed_in"]?.bool == true else { return nil }
        return try await balancer.send("GET", "/v1/delegates", nil, headers).status == 200 ? headers : nil
    }

    /// A node on the database, with an admin key.
    private func start(on url: String) async throws -> HeraldProcess {
        try await HeraldProcess.start(
            command: ["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", url],
            adminKey: MadeKey.admin.text)
    }

    @Test("a key and a link of an app that another node has just made")
    func provisioning() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        defer { try? PostgresServer.shared().drop(url) }
        let (first, second) = (try await start(on: url), try await start(on: url))
        for number in 0..<20 {
            let app = #""app": "shop-\#(number)""#
            #expect(try await first.post("/v1/apps", #"{"name": "shop-\#(number)"}"#).status == 201)
            let key = try await second.post("/v1/keys", "{\(app), \"scopes\": [\"consume\"]}")
            #expect(key.status == 201, "\(key.text)")
            let pull = try await first.post("/v1/delegates", #"{"kind": "pull", "description": "\#(number)"}"#)
            let bound = try await second.post("/v1/keys", #"{"scopes": ["consume"], "delegate": "\#(pull.id)"}"#)
            #expect(bound.status == 201, "\(bound.text)")
            #expect(try await second.post("/v1/apps", #"{"name": "mall-\#(number)"}"#).status == 201)
            let link = try await first.post("/v1/portal-links", #"{"app": "mall-\#(number)"}"#)
            #expect(link.status == 201, "\(link.text)")
        }
    }

    @Test("50 of 50 sign-ins and 50 of 50 links succeed, while one of two nodes restarts")
    func balanced() async throws {
        let url = try PostgresServer.shared().makeDatabase()
        defer { try? PostgresServer.shared().drop(url) }
        var balancer = Balancer([try await start(on: url), try await start(on: url)])
        let bearer = ["Authorization": "Bearer \(MadeKey.admin.text)", "Sec-Fetch-Site": "none"]
        #expect(try await balancer.send("POST", "/v1/apps", #"{"name": "shop"}"#, bearer).status == 201)
        var sessions: [[String: String]] = []
        var links = 0
        for number in 0..<50 {
            if number == 25 {
                let second = balancer.nodes.removeLast()
                try await second.stop()
                balancer.nodes.append(try await start(on: url))
            }
            if let headers = try await signIn(&balancer, #"{"key": "\#(MadeKey.admin.text)"}"#) {
                sessions.append(headers)
            }
            let made = try await balancer.send("POST", "/v1/portal-links", #"{"app": "shop"}"#, bearer)
            let token = made.string("url")?.split(separator: "/").last ?? ""
            if let headers = try await signIn(&balancer, #"{"portal_link": "\#(token)"}"#) {
                sessions.append(headers)
                links += 1
            }
        }
        #expect(links == 50 && sessions.count == 100)
        // Also those from before the restart, at both nodes.
        for headers in sessions {
            for _ in balancer.nodes {
                #expect(try await balancer.send("GET", "/v1/delegates", nil, headers).status == 200)
            }
        }
    }
}
