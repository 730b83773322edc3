import Testing

/// A request as raw bytes, and how it must be answered on a connection of its own.
struct StrictnessCase: CustomTestStringConvertible, Sendable {
    let name: String
    let raw: String
    /// The statuses of all responses.
    let wanted: [Int]
    /// Whether the connection takes another request afterwards.
    let staysOpen: Bool

    var testDescription: String { name }

    static func refused(_ name: String, _ raw: String, _ status: Int = 400) -> StrictnessCase {
        StrictnessCase(name: name, raw: raw, wanted: [status], staysOpen: false)
    }
    static func served(_ name: String, _ raw: String, _ count: Int = 1) -> StrictnessCase {
        StrictnessCase(name: name, raw: raw, wanted: Array(repeating: 200, count: count), staysOpen: true)
    }

    /// Served, and closed: nothing may follow on the connection.
    static func last(_ name: String, _ raw: String) -> StrictnessCase {
        StrictnessCase(name: name, raw: raw, wanted: [200], staysOpen: false)
    }

    private static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
    private static func post(_ fields: String, _ body: String) -> String {
        "POST /echo HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n\(body)"
    }
    private static func get(_ fields: String) -> String {
        "GET /x HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n"
    }
    private static func line(_ line: String) -> String { "\(line)\r\nHost: localhost\r\n\r\n" }

    static let all: [StrictnessCase] = lengths + encodings + chunks + fields + hosts + lines + ends

    private static let lengths: [StrictnessCase] = [
        .refused("two lengths", post("Content-Length: 3\r\nContent-Length: 46\r\n", "abc" + smuggled)),
        .refused("two equal lengths", post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc")),
        .refused("space before the colon of a length", post("Content-Length : 3\r\n", "abc")),
        .refused("length with plus", post("Content-Length: +3\r\n", "abc")),
        .refused("negative length", post("Content-Length: -1\r\n", "abc")),
        .refused("hexadecimal length", post("Content-Length: 0x3\r\n", "abc")),
        .refused("list of lengths", post("Content-Length: 3, 3\r\n", "abc")),
        .refused("two numbers", post("Content-Length: 3 4\r\n", "abc")),
        .refused("empty length", post("Content-Length:\r\n", "abc")),
        .refused("length of 2^64+3", post("Content-Length: 18446744073709551619\r\n", "abc"), 413),
        .served("length of zero", post("Content-Length: 0\r\n", "")),
        .served("white space behind a length", post("Content-Length: 3 \t\r\n", "abc")),
        .served("leading zeros", post("Content-Length: 003\r\n", "abc")),
    ]

    private static let encodings: [StrictnessCase] = [
        .refused("space before the colon of an encoding", post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n")),
        .refused(
            "length and encoding", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + smuggled)),
        .refused("length and identity", post("Content-Length: 3\r\nTransfer-Encoding: identity\r\n", "abc")),
        .refused(
            "encoding in HTTP/1.0",
            "POST /echo HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        .refused("xchunked", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")),
        .refused("gzip, chunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n")),
        .last("chunked with white space behind it", post("Transfer-Encoding: chunked \t\r\n", "3\r\nabc\r\n" + end)),
        .refused("xchunked with a space behind it", post("Transfer-Encoding: xchunked \r\n", "0\r\n\r\n")),
        .refused(
            "two encodings", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
        .last("chunked", chunked("3\r\nabc\r\n0\r\n\r\n")),
    ]

    private static func chunked(_ body: String) -> String { post("Transfer-Encoding: chunked\r\n", body) }
    private static let end = "0\r\n\r\n"

    private static let chunks: [StrictnessCase] = [
        .refused("chunk of 2^64+3", chunked("10000000000000003\r\nabc"), 413),
        .refused("chunk size 0x3", chunked("0x3\r\nabc\r\n" + end)),
        .refused("chunk size -3", chunked("-3\r\nabc\r\n" + end)),
        .refused("chunk size +3", chunked("+3\r\nabc\r\n" + end)),
        .refused("chunk size 3_0", chunked("3_0\r\nabc\r\n" + end)),
        .refused("chunk size behind a space", chunked(" 3\r\nabc\r\n" + end)),
        .refused("chunk size before a space", chunked("3 \r\nabc\r\n" + end)),
        .refused("no chunk size", chunked("\r\nabc\r\n" + end)),
        .refused("extension without a chunk size", chunked(";x\r\nabc\r\n" + end)),
        .refused("chunk without end of line", chunked("3\r\nabcd\r\n" + end)),
        .refused("chunk that is longer than its size", chunked("3\r\nabc3\r\nabc\r\n" + end)),
        .last("chunk size with leading zeros", chunked("0000000000000003\r\nabc\r\n" + end)),
        .last("chunk size in capitals", chunked("A\r\n0123456789\r\n" + end)),
        .last("chunk extension", chunked("3;x=\"y z\"\r\nabc\r\n" + end)),
        .last("a chunk that looks like the end and a request", chunked("32\r\n" + end + smuggled + "\r\n\r\n" + end)),
        .last("a request behind chunks", chunked("3\r\nabc\r\n" + end + smuggled)),
        .last("trailers, which are ignored", chunked("0\r\nContent-Length: 46\r\nHost: a\r\n\r\n" + smuggled)),
        .refused("bare LF behind the size of the last chunk", chunked("3\r\nabc\r\n0\n\r\n" + smuggled)),
        .refused("bare LF behind the last chunk", chunked("3\r\nabc\r\n0\r\n\n" + smuggled)),
        .refused("bare LF behind a trailer", chunked("0\r\nX: a\nY: b\r\n\r\n" + smuggled)),
        .refused("bare LF before the last chunk", chunked("3\r\nabc\n" + end + smuggled)),
        .refused("no line break behind the last chunk", chunked("3\r\nabc\r\n0\r\n" + smuggled)),
        .refused("bare LF behind a chunk size", chunked("3\nabc\r\n" + end + smuggled)),
        .refused("bare LF behind the second chunk size", chunked("3\r\nabc\r\n3\nabc\r\n" + end + smuggled)),
        .refused("bare LF behind a chunk", chunked("3\r\nabc\n3\r\nabc\r\n" + end + smuggled)),
        .refused("bare LF everywhere", chunked("3\nabc\n0\n\n" + smuggled)),
        .refused("bare LF behind an extension", chunked("3;x\nabc\r\n" + end + smuggled)),
        .refused("bare LF in an extension", chunked("3;\nab\r\n" + end + smuggled)),
        .refused("bare CR in an extension", chunked("3;\rx\r\nabc\r\n" + end + smuggled)),
        .refused("NUL in an extension", chunked("3;\0\r\nabc\r\n" + end + smuggled)),
        .refused("endless extension", chunked("3;" + String(repeating: "x", count: 300) + "\r\nabc\r\n" + end)),
    ]

    private static let fields: [StrictnessCase] = [
        .refused("0x01 in a value", get("X: a\u{1}b\r\n")),
        .refused("delete in a value", get("X: a\u{7f}b\r\n")),
        .refused("bare CR in a value", get("X: a\rb\r\n")),
        .refused("brackets in a name", get("X[]: a\r\n")),
        .refused("space in a name", get("X Y: a\r\n")),
        .refused("two authorizations", get("Authorization: a\r\nAuthorization: b\r\n")),
        .refused("two content types", get("Content-Type: a\r\ncontent-type: b\r\n")),
        .refused("two idempotency keys", get("Idempotency-Key: a\r\nIdempotency-Key: a\r\n")),
        .refused("two apps", get("Herald-App: a\r\nHerald-App: b\r\n")),
        .refused("unknown expectation", post("Expect: tea\r\nContent-Length: 3\r\n", "abc"), 417),
        .served("tab and UTF-8 in a value", get("X: a\tü\r\n")),
        .served("the same ordinary field twice", get("X: a\r\nX: b\r\n")),
    ]

    private static let hosts: [StrictnessCase] = [
        .refused("no Host", "GET /x HTTP/1.1\r\n\r\n"),
        .refused("two Hosts", get("Host: localhost\r\n")),
        .refused("empty Host", "GET /x HTTP/1.1\r\nHost:\r\n\r\n"),
        .refused("Host with user", "GET /x HTTP/1.1\r\nHost: evil@localhost\r\n\r\n"),
        .refused("foreign Host", "GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        .refused("foreign Host that starts like ours", "GET /x HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 421),
        .served("our Host with port in capitals", "GET /x HTTP/1.1\r\nHost: LOCALHOST:8080\r\n\r\n"),
        .served("our Host with white space behind it", "GET /x HTTP/1.1\r\nHost: localhost \t \r\n\r\n"),
        .refused("Host with a name in place of its port", "GET /x HTTP/1.1\r\nHost: localhost:80.evil\r\n\r\n"),
        .refused("Host with a port that is too large", "GET /x HTTP/1.1\r\nHost: localhost:65536\r\n\r\n"),
        .refused("foreign host in the target", line("GET http://evil.example/x HTTP/1.1"), 421),
        .refused("no host in the target", line("GET http:///x HTTP/1.1")),
        .refused("user in the target", line("GET http://evil@localhost/x HTTP/1.1")),
        .refused("target of another scheme", line("GET ftp://localhost/x HTTP/1.1")),
        .refused("absolute target and no Host", "GET http://localhost/x HTTP/1.1\r\n\r\n"),
        .served("our Host as an address", "GET /x HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"),
    ]

    private static let lines: [StrictnessCase] = [
        .served("absolute target", line("GET http://localhost/x HTTP/1.1")),
        .served("absolute target in capitals with a port, and no path", line("GET HTTPS://LOCALHOST:8080?x HTTP/1.1")),
        .served("absolute target and a foreign Host", "GET http://localhost/x HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
        .refused("CONNECT", line("CONNECT a:80 HTTP/1.1")),
        .served("asterisk target of OPTIONS", line("OPTIONS * HTTP/1.1")),
        .refused("asterisk target of another method", line("GET * HTTP/1.1")),
        .refused("more than an asterisk", line("OPTIONS *x HTTP/1.1")),
        .refused("target without slash", line("GET x HTTP/1.1")),
        .refused("fragment", line("GET /x#y HTTP/1.1")),
        .refused("UTF-8 in the target", line("GET /ü HTTP/1.1")),
        .refused("control character in the target", line("GET /\u{1} HTTP/1.1")),
        .refused("space in the target", line("GET /x y HTTP/1.1")),
        .refused("no space in the request line", line("GARBAGE")),
        .refused("space before the method", line(" GET /x HTTP/1.1")),
        .refused("no target", line("GET ")),
        .refused("no version", line("GET /x")),
        .refused("no colon in the first field", "GET /x HTTP/1.1\r\nX\r\nHost: localhost\r\n\r\n"),
        .refused("no colon in a later field", get("X\r\n")),
        .refused("no colon in a trailer", chunked("0\r\nX\r\n\r\n")),
        .refused("method in small letters", line("get /x HTTP/1.1")),
        .refused("method with an at sign", line("G@T /x HTTP/1.1")),
        .refused("unknown method", line("BREW /x HTTP/1.1"), 501),
        .served("TRACE, which the handler judges", line("TRACE /x HTTP/1.1")),
        .refused("HTTP/1.2", line("GET /x HTTP/1.2")),
        .refused("HTTP/9.9", line("GET /x HTTP/9.9"), 505),
        .refused("FOO/1.1", line("GET /x FOO/1.1")),
        .refused("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        .served("escapes in the target", line("GET /x%00y%2f..%2fz HTTP/1.1")),
        .served("query", line("GET /x?a=b&c HTTP/1.1")),
        .served("three pipelined GETs", get("") + get("") + get(""), 3),
        .served("a body on GET, then a GET", get("Content-Length: 3\r\n") + "abc" + get(""), 2),
    ]

    /// Bytes that libmicrohttpd would treat as the end of a line or of a text.
    private static let ends: [StrictnessCase] = [
        .refused("bare LF behind a field", get("X: a\nY: b\r\n")),
        .refused("bare LF behind the last field", get("X: a\n")),
        .refused("bare LF behind the request line", "GET /x HTTP/1.1\nHost: localhost\r\n\r\n"),
        .refused("bare LF as the empty line", "GET /x HTTP/1.1\r\nHost: localhost\r\n\n"),
        .refused("bare LF twice at the end", "GET /x HTTP/1.1\r\nHost: localhost\n\n"),
        .refused("bare LF only", "GET /x HTTP/1.1\nHost: localhost\n\n"),
        .refused("bare LF without a field", "GET /x HTTP/1.0\n\n"),
        .refused(
            "bare LF as the empty line before a body that continues with NULs",
            "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\n\0\0\0"),
        .refused("length behind a bare LF", post("X: a\nContent-Length: 46\r\n", "abc" + smuggled)),
        .refused("folded field", get("X: a\r\n b\r\n")),
        .refused("folded first field", "GET /x HTTP/1.1\r\nX: a\r\n b\r\nHost: localhost\r\n\r\n"),
        .refused("folded last field, with a tab", get("X: a\r\n\tb\r\n")),
        .refused("folded length", post("Content-Length:\r\n 3\r\n", "abc")),
        .refused("folded encoding", post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n" + smuggled)),
        .refused("field behind a space", "GET /x HTTP/1.1\r\n X: a\r\nHost: localhost\r\n\r\n"),
        .refused("NUL in a value", get("X: a\0b\r\n")),
        .refused("NUL at a value's end", get("X: a\0\r\n")),
        .refused("NUL in a length", post("Content-Length: 3\0 \r\n", "abc")),
        .refused("NUL in the target", line("GET /x\0y HTTP/1.1")),
        .refused("NUL in the version", line("GET /x HTTP/1.1\0")),
        .refused("no name", get(": a\r\n")),
        .served("spaces around a value", get("X: \t a \r\n")),
        .served("empty value", get("X:\r\nY: \r\n")),
        .served("empty lines before the request", "\r\n\r\n" + get("")),
    ]
}
