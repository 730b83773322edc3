import HeraldCrypto
import HeraldJSON
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Synchronization
import Testing

/// A recipe as in the setting `request`.
func recipe(_ json: String) throws -> Recipe {
    var recipe: Recipe?
    var errors: [FieldError] = []
    RecipeInput.merge(try JSONDocument(parsing: json).root, into: &recipe, &errors)
    try #require(errors.isEmpty, "\(errors)")
    return try #require(recipe)
}

@Suite("Recipes decide what a request is", .timeLimit(.minutes(20))) struct RecipeTests {
    private let paid = event(
        #"{"user": {"name": "Ada \"L\""}, "amount": 12.50, "n": 8202522731445525542}"#, id: "evt_7")

    private func send(
        _ json: String, _ event: Event? = nil, attempt: Int = 1, url: String = "/base/?v=1",
        secrets: [DelegateSecret] = [DelegateSecret(SigningSecret(bytes: secretBytes))],
        answer: @escaping @Sendable (ReceivedRequest) -> ReceiverReply = { _ in .status(200) }
    ) async throws -> (CallbackOutcome, [ReceivedRequest]) {
        let receiver = try Receiver(script: answer)
        let loop = try SendingLoop(clock: .stopped(at: 1_614_265_330_999))
        defer { loop.stop(closing: receiver) }
        let request = try recipe(json)
        let target = delegate(receiver.url(url), secrets: secrets) { $0.request = request }
        let outcome = await loop.send(target, event ?? paid, attempt: attempt)
        return (outcome, receiver.requests)
    }

    @Test("method, path, query, headers and body are those of the recipe")
    func parts() async throws {
        let (outcome, requests) = try await send(
            #"""
            {"method": "PUT", "path": "/users/{{ data.user.name }}/{{ id }}", "query": {"n": "{{ data.n }}", "q": "a b&c"},
             "headers": {"X-Try": "{{ attempt }}", "Content-Type": "application/vnd.x+json"},
             "body": {"text": "{{ data.user.name }} paid {{ data.amount }} €", "n": "{{ data.n }}", "none": "{{ data.x }}"}}
            """#, attempt: 3)
        #expect(outcome.isSuccess)
        let request = try #require(requests.first)
        #expect(request.method == "PUT")
        #expect(request.path == "/base/users/Ada%20%22L%22/evt_7?v=1&n=8202522731445525542&q=a%20b%26c")
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == #"{"text":"Ada \"L\" paid 12.50 €","n":8202522731445525542,"none":null}"#)
        #expect(
            request.headers.filter { $0.name.lowercased() == "content-type" }.map(\.value) == ["application/vnd.x+json"]
        )
        #expect(request.header("x-try") == "3")
        #expect(request.header("herald-attempt") == "3")
        // Without `sign`, it is signed as a plain callback.
        #expect(try request.header("webhook-signature") == v1(secretBytes, request))
    }

    @Test("the body of all attempts for an event is the same bytes")
    func sameBytes() async throws {
        let json = #"{"body": {"at": "{{ time }}", "of": "{{ delegate.id }}", "all": "{{ data }}"}}"#
        let first = try await send(json, attempt: 1).1.first?.body
        #expect(first != nil)
        #expect(try await send(json, attempt: 9).1.first?.body == first)
    }

    @Test("a body can be the publisher's data, nothing, or a form")
    func bodies() async throws {
        let data = try #require(try await send(#"{"body": "data"}"#).1.first)
        #expect(data.body == Array(paid.data))
        #expect(data.header("content-type") == "application/json")
        let none = try #require(try await send(#"{"body": "none", "method": "DELETE"}"#).1.first)
        #expect(none.method == "DELETE")
        #expect(none.body == [])
        #expect(none.header("content-type") == nil)
        let form = try #require(
            try await send(
                #"{"form": true, "body": {"To": "+1 2", "Body": "{{ data.user.name }}", "n": "{{ data.n }}"}}"#
            )
            .1.first)
        #expect(String(decoding: form.body, as: UTF8.self) == "To=%2B1+2&Body=Ada+%22L%22&n=8202522731445525542")
        #expect(form.header("content-type") == "application/x-www-form-urlencoded")
    }

    @Test("requests are signed by the schemes of the recipe, and by no other")
    func schemes() async throws {
        let secret = DelegateSecret(SigningSecret(.text, bytes: Array("a-secret-of-github".utf8)))
        let github = try #require(
            try await send(#"{"sign": ["github", "slack"], "body": "data"}"#, secrets: [secret]).1.first)
        let hmac = try HMAC(.sha256, key: Array("a-secret-of-github".utf8))
        hmac.update(github.body)
        #expect(github.header("x-hub-signature-256") == "sha256=\(Hex.encode(try hmac.finish()))")
        #expect(github.header("x-slack-request-timestamp") == "1614265330")
        #expect(github.header("webhook-signature") == nil)
        #expect(github.header("webhook-id") == "evt_7")
        let unsigned = try #require(try await send(#"{"sign": []}"#).1.first)
        #expect(unsigned.header("webhook-signature") == nil)
        let both = try #require(try await send(#"{"sign": ["standard", "svix"]}"#).1.first)
        #expect(try both.header("webhook-signature") == v1(secretBytes, both))
        #expect(both.header("svix-signature") == both.header("webhook-signature"))
    }

    @Test("the id is sent once, also if a scheme has it in the same header")
    func idOnce() async throws {
        let secret = DelegateSecret(SigningSecret(.v1a, bytes: secretBytes))
        let request = try #require(try await send(#"{"sign": ["standard_ed25519"]}"#, secrets: [secret]).1.first)
        #expect(request.headers.filter { $0.name.lowercased() == "webhook-id" }.map(\.value) == ["evt_7"])
        let text = try #require(request.header("webhook-signature"))
        let signature = try #require(Base64.decode(text.dropFirst("v1a,".count)))
        let key = try Ed25519.PrivateKey(seed: secretBytes).publicKey
        #expect(key.verifies(signature, of: signedContent(request)))
        let custom =
            #"{"header": "X-Own", "key": "whsec", "#
            + #""id_header": "Webhook-Id", "timestamp_header": "webhook-timestamp"}"#
        let both = try #require(try await send(#"{"sign": ["standard", \#(custom)]}"#).1.first)
        for name in ["webhook-id", "webhook-timestamp", "x-own"] {
            #expect(both.headers.filter { $0.name.lowercased() == name }.count == 1, "\(name)")
        }
    }

    @Test("basic authentication, and Amazon's signature")
    func authentication() async throws {
        let basic = try #require(
            try await send(#"{"auth": {"basic": {"user": "ada", "password": "pa:ss"}}}"#).1.first)
        #expect(basic.header("authorization") == "Basic YWRhOnBhOnNz")
        let aws = try #require(
            try await send(
                #"{"sign": [], "auth": {"aws": {"region": "eu-west-1", "service": "sqs", "key_id": "AK", "secret": "s3cr"}}}"#
            )
            .1.first)
        #expect(aws.header("authorization")?.hasPrefix("AWS4-HMAC-SHA256 Credential=AK/") == true)
        #expect(aws.header("authorization")?.contains("/eu-west-1/sqs/aws4_request") == true)
        #expect(aws.header("x-amz-date") == "20210225T150210Z")
        // S3 refuses all requests without it.
        #expect(aws.header("x-amz-content-sha256") == Hex.encode(SHA256.hash(aws.body)))
        // Amazon computes the signature from the headers that it gets.
        let signed = aws.header("authorization")?.firstMatch(of: #/SignedHeaders=([^,]+)/#)?.1.split(separator: ";")
        #expect(signed?.isEmpty == false)
        #expect(signed?.contains("user-agent") == false && aws.header("user-agent") == "Herald/1.2.3")
        for name in signed ?? [] { #expect(aws.header(String(name)) != nil, "\(name)") }
    }

    @Test("a 2xx that the recipe refuses is a failure with the status and the body")
    func success() async throws {
        let json = #"{"success": {"status": [200], "body": {"ok": [true]}}}"#
        #expect(try await send(json, answer: { _ in .status(200, body: #"{"ok": true}"#) }).0.isSuccess)
        for (status, body) in [(200, #"{"ok": false}"#), (200, "no JSON"), (200, ""), (202, #"{"ok": true}"#)] {
            let outcome = try await send(json, answer: { _ in .status(status, body: body) }).0
            #expect(outcome.failure == .responseRefused)
            #expect(outcome.detail.contains("\(status)"))
            #expect(outcome.excerpt == Array(body.utf8))
        }
        #expect(try await send(json, answer: { _ in .status(500) }).0.status == 500)
        let deep = #"{"ok": true, "a": "# + String(repeating: "[", count: 63) + String(repeating: "]", count: 63) + "}"
        #expect(try await send(json, answer: { _ in .status(200, body: deep) }).0.isSuccess)
        let key = String(repeating: "k", count: 300)
        #expect(try await send(json, answer: { _ in .status(200, body: #"{"\#(key)": 1, "ok": true}"#) }).0.isSuccess)
        // What decides may stand behind the part of the body that is kept.
        let long = #"{"filler": ""# + String(repeating: "x", count: 8_000) + #"", "ok": true}"#
        let outcome = try await send(json, answer: { _ in .status(200, body: long) }).0
        #expect(outcome.isSuccess)
        #expect(outcome.excerpt.count == 1024)
    }

    @Test("a body that decides the outcome is read although it comes late")
    func lateBody() async throws {
        let replies = try ScriptedReplies()
        let (receiver, loop) = try connected { replies.reply(to: $0) }
        defer { loop.stop(closing: receiver) }
        // Eleven bytes in 1.5 s: three times as long as other bodies have.
        let url = receiver.url("/body/%7B%22ok%22:true%7D/drip/150")
        let made = try recipe(#"{"success": {"body": {"ok": [true]}}}"#)
        let decided = await loop.send(delegate(url, timeout: 600) { $0.request = made })
        #expect(decided.isSuccess, "\(decided)")
        let tested = await loop.send(delegate(url, timeout: 600), purpose: .test)
        #expect(tested.excerpt == Array(#"{"ok":true}"#.utf8), "\(tested)")
        let short = await loop.send(delegate(url, timeout: 1) { $0.request = made })
        // On a slow machine, the time ends before the headers come.
        #expect(short.failure == .timeout || short.detail.contains("in time"), "\(short)")
    }

    @Test("what can't be made is never sent, and says where the reason is")
    func notMade() async throws {
        for (json, place) in [
            (#"{"path": "/{{ data.nobody }}"}"#, "/request/path"),
            (#"{"path": "/{{ data.dots }}"}"#, "/request/path"),
            (#"{"form": true, "body": {"list": "{{ data.list }}"}}"#, "/request/body/list"),
            (#"{"headers": {"X-Name": "{{ data.lines }}"}}"#, "/request/headers/X-Name"),
        ] {
            let odd = event(#"{"dots": "..", "list": [1], "lines": "a\r\nX-Evil: 1"}"#)
            let (outcome, requests) = try await send(json, odd)
            #expect(outcome.failure == .requestNotMade, "\(json)")
            #expect(outcome.detail.hasPrefix(place), "\(outcome.detail)")
            #expect(requests.isEmpty)
        }
    }

    @Test("large bodies of open requests have a bound, half of it for an app; others wait, which is no attempt")
    func room() async throws {
        let gate = ReceiverGate()
        let receiver = try Receiver { _ in .held(gate) }
        let loop = try SendingLoop { $0.maxRecipeBytes = 250_000 }
        defer { loop.stop(closing: receiver) }
        let made = try recipe(#"{"body": {"all": "{{ data }}"}}"#)
        let large = event("\"\(String(repeating: "x", count: 60_000))\"")
        let first = delegate(receiver.url("/a")) { $0.request = made }
        let second = WebhookDelegate(
            app: AppKey(rawValue: 2), key: 2, id: "dlg_2", state: first.state, start: 0, createdAt: 0, updatedAt: 0,
            version: 1)
        async let one = loop.send(first, large)
        async let two = loop.send(first, large)
        _ = await receiver.requests(2)
        #expect(await loop.send(first, large).failure == .stopped)
        // Another app has room, and small bodies are not counted.
        async let other = loop.send(second, large)
        async let small = loop.send(first)
        _ = await receiver.requests(4)
        gate.open()
        #expect(await [one, two, other, small].allSatisfy(\.isSuccess))
        #expect(await loop.send(first, large).isSuccess)
        #expect(receiver.requests.count == 5)
    }

    @Test("a preview is the request that is sent, without its secrets")
    func preview() async throws {
        let receiver = try Receiver()
        let loop = try SendingLoop(clock: .stopped(at: 1_614_265_330_999))
        defer { loop.stop(closing: receiver) }
        let made = try recipe(
            #"{"method": "PATCH", "path": "/{{ id }}", "body": {"n": "{{ data.n }}"}, "auth": {"basic": {"user": "u", "password": "p"}}}"#
        )
        let plain = delegate(receiver.url("/a"), headers: [KeyValue("X-Token", "hush")])
        let other = delegate(receiver.url("/b"), key: 2) { $0.request = made }
        for target in [plain, other] {
            #expect(await loop.send(target, paid).isSuccess)
            let sent = try #require(receiver.requests.last)
            let callback = Callback(token: 0, delegate: target, event: paid, attempt: 1)
            guard case .request(let shown) = loop.sender.preview(callback) else { throw Unexpected("no preview") }
            #expect(shown.method == sent.method)
            #expect(shown.url == receiver.url(sent.path))
            #expect(shown.body == sent.body)
            for header in shown.headers where header.value != "***" && header.key != "authorization" {
                #expect(sent.header(header.key) == header.value, "\(header.key)")
            }
            let hidden = ["host", "content-length", "accept"]
            #expect(
                Set(shown.headers.map(\.key)).union(hidden) == Set(sent.headers.map { $0.name.lowercased() }))
            #expect(!"\(shown)".contains("hush") && !"\(shown)".contains("dTpw"))
        }
    }

    @Test("a preview hides a secret that is sent as it is", arguments: ["gitlab", "telegram"])
    func tokenPreview(_ scheme: String) throws {
        let sender = try CurlSender(.init(version: "1", addressGuard: AddressGuard()), resolver: Resolver())
        defer { sender.close { _, _ in } }
        let made = try recipe(#"{"sign": ["\#(scheme)"]}"#)
        let secret = DelegateSecret(SigningSecret(.text, bytes: Array("hush-hush-hush-hush".utf8)))
        let target = delegate("https://hooks.example/", secrets: [secret]) { $0.request = made }
        guard case .request(let shown) = sender.preview(Callback(token: 0, delegate: target, event: paid, attempt: 1))
        else { throw Unexpected("no preview") }
        #expect(shown.headers.contains { $0.key.hasSuffix("-token") && $0.value == "***" })
        #expect(!"\(shown)".contains("hush"))
    }
}

@Suite("Tokens of OAuth 2.0", .timeLimit(.minutes(20))) struct TokenTests {
    /// The tokens that were issued: the newest one is valid.
    private final class Issued: Sendable {
        private struct State {
            var count = 0
            var valid = ""
            var answer: (status: Int, body: String)?
        }
        private let state = Mutex(State())

        func issue() -> ReceiverReply {
            state.withLock { state in
                if let answer = state.answer { return .status(answer.status, body: answer.body) }
                state.count += 1
                state.valid = "token-\(state.count)"
                return .status(
                    200, body: #"{"access_token":"\#(state.valid)","token_type":"Bearer","expires_in":3600}"#)
            }
        }
        func check(_ request: ReceivedRequest) -> ReceiverReply {
            state.withLock { request.header("authorization") == "Bearer \($0.valid)" ? .status(200) : .status(401) }
        }
        func revoke() { state.withLock { $0.valid = "none" } }
        func answer(_ status: Int, _ body: String) { state.withLock { $0.answer = (status, body) } }
    }

    /// An authorization server, and a receiver that accepts its newest token only.
    private struct Servers {
        let issued: Issued
        let tokens: Receiver
        let receiver: Receiver

        /// - Parameter gates: hold the responses to the second callback, the third, and so on.
        init(_ gates: ReceiverGate...) throws {
            let (issued, count) = (Issued(), Counter())
            self.issued = issued
            tokens = try Receiver { _ in issued.issue() }
            receiver = try Receiver { request in
                let (reply, number) = (issued.check(request), count.next() - 2)
                return gates.indices.contains(number) ? .held(gates[number], reply) : reply
            }
        }

        func delegate(_ more: String = "", tokenURL: String? = nil) throws -> WebhookDelegate {
            let made = try recipe(
                #"""
                {"auth": {"oauth2": {"token_url": "\#(tokenURL ?? tokens.url("/token"))", "client_id": "me", "client_secret": "a b"\#(more)}}}
                """#)
            return HeraldWebhooksTests.delegate(receiver.url()) { $0.request = made }
        }

        func close() {
            tokens.close()
            receiver.close()
        }
    }

    @Test("callbacks at the same time share one request for a token, and later ones its token")
    func shared() async throws {
        let servers = try Servers()
        let loop = try SendingLoop()
        defer { servers.close() }
        defer { loop.stop() }
        let target = try servers.delegate(#", "scope": "a b""#)
        await withTaskGroup(of: CallbackOutcome.self) { group in
            for number in 0..<20 { group.addTask { await loop.send(target, event(id: "evt_\(number)")) } }
            for await outcome in group { #expect(outcome.isSuccess, "\(outcome.verdict)") }
        }
        #expect(await loop.send(target).isSuccess)
        #expect(servers.tokens.requests.count == 1)
        let request = try #require(servers.tokens.requests.first)
        #expect(request.header("authorization") == "Basic bWU6YSti")
        let types = request.headers.filter { $0.name.lowercased() == "content-type" }.map(\.value)
        #expect(types == ["application/x-www-form-urlencoded"])
        #expect(String(decoding: request.body, as: UTF8.self) == "grant_type=client_credentials&scope=a+b")
        #expect(request.header("webhook-signature") == nil)
    }

    @Test("a token that the receiver refuses is replaced, and the attempt may be made again at once")
    func refused() async throws {
        let servers = try Servers()
        let loop = try SendingLoop()
        defer { servers.close() }
        defer { loop.stop() }
        let target = try servers.delegate(#", "client_authentication": "body", "audience": "https://api""#)
        #expect(await loop.send(target).isSuccess)
        servers.issued.revoke()
        let outcome = await loop.send(target)
        #expect(outcome.status == 401)
        #expect(outcome.isStale)
        #expect(await loop.send(target).isSuccess)
        #expect(servers.tokens.requests.count == 2)
        let form = String(decoding: try #require(servers.tokens.requests.first).body, as: UTF8.self)
        #expect(form == "grant_type=client_credentials&audience=https%3A%2F%2Fapi&client_id=me&client_secret=a+b")
        // A token that was issued for this attempt: the receiver refuses the client itself.
        servers.issued.answer(200, #"{"access_token": "other"}"#)
        servers.issued.revoke()
        _ = await loop.send(target)
        let last = await loop.send(target)
        #expect(last.status == 401)
        #expect(!last.isStale)
    }

    @Test("a token that is refused after another callback has replaced it says nothing about the new one")
    func replaced() async throws {
        let (first, second) = (ReceiverGate(), ReceiverGate())
        let servers = try Servers(first, second)
        let loop = try SendingLoop()
        defer { servers.close() }
        defer { loop.stop() }
        defer { for gate in [first, second] { gate.open() } }
        let target = try servers.delegate()
        #expect(await loop.send(target).isSuccess)
        servers.issued.revoke()
        async let early = loop.send(target)
        _ = await servers.receiver.requests(2)
        async let late = loop.send(target)
        _ = await servers.receiver.requests(3)
        first.open()
        #expect(await early.isStale)
        #expect(await loop.send(target).isSuccess)
        second.open()
        let outcome = await late
        #expect(outcome.status == 401 && outcome.isStale)
        #expect(await loop.send(target).isSuccess)
        #expect(servers.tokens.requests.count == 2)
    }

    @Test(
        "without a token, the attempt says why",
        arguments: [
            (400, #"{"error": "invalid_client", "secret": "hush"}"#, "status 400: invalid_client"),
            // One character of 4,001 bytes.
            (400, #"{"error": "e\#(String(repeating: "\u{301}", count: 2_000))"}"#, "status 400: e"),
            (200, #"{"token_type": "bearer"}"#, "no access_token"), (200, "<html>", "no access_token"),
            (200, #"{"access_token": "a\r\nb"}"#, "no access_token"),
            (200, #"{"access_token": "a", "token_type": "mac"}"#, "mac"),
        ])
    func failures(_ status: Int, _ body: String, _ reason: String) async throws {
        let servers = try Servers()
        let loop = try SendingLoop()
        defer { servers.close() }
        defer { loop.stop() }
        servers.issued.answer(status, body)
        let outcome = await loop.send(try servers.delegate())
        #expect(outcome.failure == .tokenNotIssued)
        #expect(outcome.detail.contains(reason), "\(outcome.detail)")
        #expect(!outcome.detail.contains("hush"))
        #expect(outcome.detail.utf8.count < 100)
        #expect(servers.receiver.requests.isEmpty)
    }

    @Test("an authorization server that accepts connections at none of its addresses ends the callbacks that wait")
    func unreachable() async throws {
        let servers = try Servers()
        let loop = try SendingLoop(resolver: Resolver(addresses: ["127.0.0.3", "127.0.0.4"]))
        defer { servers.close() }
        defer { loop.stop() }
        let target = try servers.delegate(tokenURL: "http://tokens.example:\(servers.tokens.port)/")
        // Each requests a token.
        for _ in 1...2 {
            let outcome = await loop.send(target)
            #expect(outcome.failure == .tokenNotIssued)
            #expect(outcome.detail.contains("no address of tokens.example accepts connections"), "\(outcome.detail)")
        }
        #expect(servers.receiver.requests.isEmpty)
    }

    @Test("an authorization server at an address that callbacks must not reach is not called")
    func addressGuard() async throws {
        let servers = try Servers()
        let loop = try SendingLoop(AddressGuard())
        defer { servers.close() }
        defer { loop.stop() }
        let outcome = await loop.send(try servers.delegate())
        #expect(outcome.failure == .tokenNotIssued)
        #expect(servers.tokens.requests.isEmpty)
    }
}
