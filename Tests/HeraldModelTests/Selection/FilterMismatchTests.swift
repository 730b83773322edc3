import HeraldModel
import HeraldTestSupport
import Testing

@Suite("Explanations of content filters")
struct FilterMismatchTests {
    private func mismatch(_ json: String, data: String = "{}", subject: String? = nil) throws -> FilterMismatch? {
        let filter = try #require(compileFilter(json).filter)
        let view = EventView(Event("order.paid", subject: subject, data: data))
        let mismatch = filter.mismatch(view)
        #expect((mismatch == nil) == filter.matches(view))
        return mismatch
    }

    @Test(
        "the clause is named, with the expected and the actual value",
        arguments: [
            (
                #"["pro", {"prefix": "team-"}]"#, #"{"a": "free"}"#,
                #"/data/a: expected "pro" or a string that begins with "team-", found "free""#
            ),
            (
                #"[{"numeric": [">", 0, "<=", 5]}]"#, #"{"a": 7.50}"#,
                "/data/a: expected a number > 0 and <= 5, found 7.50"
            ),
            (#"[{"numeric": ["<", 0]}]"#, #"{"a": {}}"#, "/data/a: expected a number < 0, found an object"),
            (
                #"[{"suffix": "x"}, 1, null]"#, #"{"a": [2, 3]}"#,
                #"/data/a: expected a string that ends with "x" or 1 or null, found an array of 2 elements"#
            ),
            (
                #"[{"anything-but": ["a", 2]}]"#, #"{"a": "a"}"#,
                #"/data/a: expected a value other than "a", 2, found "a""#
            ),
            (#"[{"exists": true}]"#, "{}", "/data/a: expected anything, found nothing"),
            (#"[{"exists": false}]"#, #"{"a": null}"#, "/data/a: expected nothing, found null"),
            (
                #"[{"equals-ignore-case": "On"}]"#, #"{"a": false}"#,
                #"/data/a: expected "On" in upper or lower case, found false"#
            ),
            (
                #"[{"wildcard": "a*"}, {"cidr": "10.0.0.0/8"}, {"prefix": {"equals-ignore-case": "b"}}]"#,
                #"{"a": "x"}"#,
                #"/data/a: expected a string like "a*" or an address in "10.0.0.0/8" or a string that begins with "b" in upper or lower case, found "x""#
            ),
            (
                #"{"$or": [{"b": ["x"]}, {"c": [1]}, {"d": [2]}]}"#, #"{"a": {"b": "y"}}"#,
                #"/data/a/$or: expected one of 3 alternatives, found "y" at /data/a/$or/0/b, nothing at /data/a/$or/1/c"#
            ),
            (#"{"b": ["x"], "c": [1]}"#, #"{"a": {"b": "x", "c": 2}}"#, "/data/a/c: expected 1, found 2"),
            (#"{"b": ["x"]}"#, "{}", #"/data/a/b: expected "x", found nothing"#),
            (#"{"b": ["x"]}"#, #"{"a": 1}"#, "/data/a: expected an object whose b agrees with the filter, found 1"),
            (#"{"b": ["x"]}"#, #"{"a": [{"b": 1}]}"#, #"/data/a/b: expected "x", found 1"#),
            (
                #"{"b": ["x"], "c": [1]}"#, #"{"a": [{"b": "x"}, {"c": 1}]}"#,
                "/data/a: expected an object whose b, c agree with the filter, found an array in which no object does"
            ),
        ])
    func words(wanted: String, data: String, words: String) throws {
        #expect(try mismatch(#"{"data": {"a": \#(wanted)}}"#, data: data)?.description == words)
    }

    @Test("fields of the event itself, and the order of the clauses")
    func fields() throws {
        let filter = #"{"data": {"a": [1]}, "subject": ["x"], "type": ["order.paid"]}"#
        #expect(try mismatch(filter)?.description == #"/subject: expected "x", found nothing"#)
        #expect(try mismatch(filter, subject: "a\"b")?.description == #"/subject: expected "x", found "a\"b""#)
        #expect(try mismatch(filter, subject: "x")?.pointer == "/data/a")
        let alternatives = #"{"$or": [{"data": {"a": [1]}}, {"subject": ["x"]}], "type": ["order.paid"]}"#
        #expect(
            try mismatch(alternatives)?.description
                == "/$or: expected one of 2 alternatives, found nothing at /$or/0/data/a, nothing at /$or/1/subject")
        #expect(try mismatch(filter, data: #"{"a": 1}"#, subject: "x") == nil)
        // Whatever the order in the request, because the store has another one.
        #expect(try mismatch(#"{"type": ["x"], "subject": ["x"]}"#)?.pointer == "/subject")
        #expect(try mismatch(#"{"data": {"b": [2], "a": [1]}}"#)?.pointer == "/data/a")
    }

    @Test("the text stays short, for any event and filter")
    func bounded() throws {
        let long = String(repeating: "ü", count: 2000)
        let found = try #require(try mismatch(#"{"data": {"a": ["\#(long)"]}}"#, data: #"{"a": "\#(long)x"}"#))
        #expect(found.expected.unicodeScalars.count == 201 && found.expected.hasSuffix("ü…"))
        #expect(found.found.unicodeScalars.count == 101 && found.found.hasSuffix("ü…"))
    }
}
