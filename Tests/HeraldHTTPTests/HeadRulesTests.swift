import Testing

@testable import HeraldHTTP

@Suite("The rules for header sections, without a socket")
struct HeadRulesTests {
    /// The verdict on a head that is right but for what is given.
    private static func verdict(
        _ method: String = "GET", _ target: String = "/x", _ version: String = "HTTP/1.1", host: String? = "localhost",
        fields: [(String, String)] = []
    ) throws(RequestFailure) -> RequestHead {
        let rules = HeadRules(allowedHosts: ["localhost", "::1"], maxBodyBytes: 1000)
        return try rules.check(head(method, target, version, (host.map { [("Host", $0)] } ?? []) + fields))
    }

    private static func head(
        _ method: String, _ target: String, _ version: String, _ fields: [(String, String)]
    ) -> RawHead {
        let texts = [method, target, version] + fields.flatMap { [$0.0, $0.1] }
        let bytes = texts.map { Array($0.utf8) }
        // All texts in one buffer, so that one pointer serves them all.
        return bytes.flatMap { $0 }.withUnsafeBufferPointer { all in
            var start = 0
            let parts = bytes.map { part in
                defer { start += part.count }
                return UnsafeBufferPointer(rebasing: all[start..<(start + part.count)])
            }
            let pairs = stride(from: 3, to: parts.count, by: 2).map { (name: parts[$0], value: parts[$0 + 1]) }
            guard let head = RawHead(method: parts[0], target: parts[1], version: parts[2], fields: pairs) else {
                preconditionFailure("too long")
            }
            return head
        }
    }

    @Test("a valid header section is parsed")
    func good() throws {
        let head = try Self.verdict(
            "POST", "/a/b?c=d?e",
            fields: [("Content-Length", "12"), ("X-Empty", ""), ("x-NAME", "First"), ("X-Name", "2")])
        #expect(head.method == .post)
        #expect(head.version == .http11)
        #expect(head.path == "/a/b")
        #expect(head.query == "c=d?e")
        #expect(head.contentLength == 12)
        #expect(head.hasBody)
        #expect(head.value(of: "X-Name") == "First")
        #expect(head.value(of: "x-empty") == "")
        #expect(head.value(of: "x-nam") == nil)
        #expect(head.value(of: "y-name") == nil, "it shares the bit of x-name")
        #expect(head.list(of: "X-Name") == "First,2" && head.list(of: "X-Empty") == "" && head.list(of: "x-nam") == nil)
        #expect(head.fields.map(\.name) == ["host", "content-length", "x-empty", "x-name", "x-name"])
    }

    @Test("the absolute form has a path, a query and a host of its own")
    func absoluteForm() throws {
        let head = try Self.verdict("GET", "http://LocalHost:8080/a/b?c", host: "evil")
        #expect(head.path == "/a/b" && head.query == "c" && head.host == "LocalHost:8080")
        let short = try Self.verdict("GET", "https://[::1]?c/d")
        #expect(short.path == "/" && short.query == "c/d" && short.host == "[::1]")
        #expect(try Self.verdict("OPTIONS", "*").path == "*")
        #expect(try Self.verdict("GET", "/x").host == "localhost")
    }

    @Test("only the exact Accept of an event stream says that nothing else is accepted")
    func eventStreams() throws {
        func accepts(_ value: String) throws -> Bool {
            try Self.verdict(fields: [("Accept", value)]).acceptsOnlyEventStream
        }
        #expect(try accepts("text/event-stream") && accepts("Text/Event-Stream"))
        #expect(try !accepts("text/event-stream, application/problem+json") && !accepts("*/*"))
        #expect(try !Self.verdict().acceptsOnlyEventStream)
        let lines = [("Accept", "text/event-stream"), ("Accept", "application/problem+json")]
        #expect(try !Self.verdict(fields: lines).acceptsOnlyEventStream)
    }

    @Test("all known methods are recognized", arguments: RequestMethod.allCases)
    func methods(method: RequestMethod) throws {
        #expect(try Self.verdict(method.rawValue).method == method)
    }

    @Test("a query may be empty or absent")
    func query() throws {
        #expect(try Self.verdict("GET", "/x").query == nil)
        #expect(try Self.verdict("GET", "/x?").query == "")
    }

    @Test(
        "targets, methods and versions",
        arguments: [
            ("GET", "", "HTTP/1.1", RequestFailure.malformed(.target)),
            ("GET", "x", "HTTP/1.1", .malformed(.target)),
            ("GET", "*", "HTTP/1.1", .malformed(.target)),
            ("GET", "http://a/x", "HTTP/1.1", .misdirected),
            ("GET", "http://a:x/x", "HTTP/1.1", .malformed(.host)),
            ("GET", "http://localhost/x#", "HTTP/1.1", .malformed(.target)),
            ("GET", "http:localhost/x", "HTTP/1.1", .malformed(.target)),
            ("GET", "/x y", "HTTP/1.1", .malformed(.target)),
            ("GET", "/x\t", "HTTP/1.1", .malformed(.target)),
            ("GET", "/x\u{7f}", "HTTP/1.1", .malformed(.target)),
            ("GET", "/ü", "HTTP/1.1", .malformed(.target)),
            ("GET", "/x#", "HTTP/1.1", .malformed(.target)),
            ("GET", "/x", "HTTP/1.2", .malformed(.version)),
            ("GET", "/x", "http/1.1", .malformed(.version)),
            ("GET", "/x", "HTTP/11", .malformed(.version)),
            ("GET", "/x", "", .malformed(.version)),
            ("get", "/x", "HTTP/1.1", .malformed(.method)),
            ("GE-T", "/x", "HTTP/1.1", .malformed(.method)),
            ("BREW", "/x", "HTTP/1.1", .unknownMethod),
            ("CONNECT", "/x", "HTTP/1.1", .unknownMethod),
        ])
    func line(method: String, target: String, version: String, failure: RequestFailure) {
        #expect(throws: failure) { try Self.verdict(method, target, version) }
    }

    @Test(
        "header fields",
        arguments: [
            ([("", "a")], RequestFailure.malformed(.fieldName)),
            ([("X:", "a")], .malformed(.fieldName)),
            ([("X\u{80}", "a")], .malformed(.fieldName)),
            ([("X", "a\nb")], .malformed(.fieldValue)),
            ([("X", "\0")], .malformed(.fieldValue)),
            ([("Host", "localhost")], .malformed(.repeatedHost)),
            ([("Content-Length", "1"), ("content-length", "1")], .malformed(.repeatedContentLength)),
            ([("Authorization", "a"), ("Authorization", "a")], .malformed(.repeatedAuthorization)),
            ([("Content-Type", "a"), ("Content-Type", "a")], .malformed(.repeatedContentType)),
            ([("Idempotency-Key", "a"), ("Idempotency-Key", "a")], .malformed(.repeatedIdempotencyKey)),
            ([("Herald-App", "a"), ("herald-app", "b")], .malformed(.repeatedApp)),
            (
                [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")],
                .malformed(.repeatedTransferEncoding)
            ),
            ([("Content-Length", "1001")], .bodyTooLarge),
            ([("Content-Length", "99999999999999999999")], .bodyTooLarge),
            ([("Content-Length", "99999999999999999999x")], .malformed(.contentLength)),
            ([("Content-Length", " 1")], .malformed(.contentLength)),
            ([("Content-Length", "1"), ("Transfer-Encoding", "chunked")], .malformed(.lengthAndEncoding)),
            ([("Transfer-Encoding", "chunked, chunked")], .malformed(.transferEncoding)),
            ([("Transfer-Encoding", "")], .malformed(.transferEncoding)),
            ([("Expect", "101-continue")], .unknownExpectation),
        ])
    func fields(fields: [(String, String)], failure: RequestFailure) {
        #expect(throws: failure) { try Self.verdict(fields: fields) }
    }

    @Test(
        "foreign and invalid hosts",
        arguments: [
            ("", RequestFailure.malformed(.host)), ("a b", .malformed(.host)), ("a/b", .malformed(.host)),
            ("localhost:80.evil", .malformed(.host)), ("[::1", .malformed(.host)), ("[]", .malformed(.host)),
            ("[::1]x", .malformed(.host)), ("[::1]:x", .malformed(.host)), (":80", .malformed(.host)),
            ("localhost:65536", .malformed(.host)), ("[[::1]]", .malformed(.host)),
            ("localhost:1:2", .malformed(.host)), ("localhost,evil", .malformed(.host)),
            ("evil", .misdirected), ("localhos", .misdirected), ("localhost.", .misdirected),
            ("::1", .malformed(.host)),
            ("[::2]", .misdirected),
        ])
    func hosts(host: String, failure: RequestFailure) {
        #expect(throws: failure) { try Self.verdict(host: host) }
    }

    @Test(
        "hosts that are served",
        arguments: ["localhost", "LocalHost", "localhost:1", "localhost:", "[::1]", "[::1]:80"])
    func ours(host: String) throws {
        _ = try Self.verdict(host: host)
    }

    @Test("Host may be missing in HTTP/1.0 only, and transfer encodings are forbidden there")
    func http10() throws {
        #expect(try Self.verdict("GET", "/x", "HTTP/1.0", host: nil).version == .http10)
        #expect(throws: RequestFailure.malformed(.host)) { try Self.verdict(host: nil) }
        #expect(throws: RequestFailure.malformed(.transferEncoding)) {
            try Self.verdict("POST", "/x", "HTTP/1.0", fields: [("Transfer-Encoding", "chunked")])
        }
    }

    @Test("every byte in a name or a value is accepted or refused according to RFC 9110")
    func bytes() {
        let token = Set("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
        for byte in UInt8.min...UInt8.max {
            #expect(isTokenByte(byte) == token.contains(byte))
            #expect(isValueByte(byte) == (byte == 9 || byte >= 0x20 && byte != 0x7f))
        }
    }
}
