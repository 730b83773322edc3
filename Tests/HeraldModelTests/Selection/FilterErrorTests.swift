import HeraldJSON
import HeraldModel
import Testing

@Suite("Invalid content filters")
struct FilterErrorTests {
    @Test(
        "each error has a pointer",
        arguments: [
            ("[]", [""]), ("1", [""]), ("{}", [""]), (#""a""#, [""]), ("null", [""]),
            (#"{"region": ["a"], "detail/x": {}}"#, ["/region", "/detail~1x"]),
            (#"{"type": "a"}"#, ["/type"]), (#"{"type": {"a": [1]}}"#, ["/type"]), (#"{"type": []}"#, ["/type"]),
            (#"{"data": {}}"#, ["/data"]), (#"{"data": 1}"#, ["/data"]), (#"{"data": {"a": null}}"#, ["/data/a"]),
            (#"{"data": {"a": [[1]]}}"#, ["/data/a/0"]), (#"{"data": {"a": [{}]}}"#, ["/data/a/0"]),
            (#"{"data": {"a": [{"prefix": "x", "suffix": "y"}]}}"#, ["/data/a/0"]),
            (#"{"data": {"a": [{"regex": "x*"}, {"not": 1}]}}"#, ["/data/a/0/regex", "/data/a/1/not"]),
            (
                #"{"data": {"a": [{"wildcard": "x**"}, {"wildcard": "\\x"}, {"wildcard": "x\\"}, {"wildcard": ["x"]}]}}"#,
                (0...3).map { "/data/a/\($0)/wildcard" }
            ),
            (
                #"{"data": {"a": [{"cidr": "10.0.0.0"}, {"cidr": "10.0.0.0/33"}, {"cidr": "::/129"}, {"cidr": "a/1"}]}}"#,
                (0...3).map { "/data/a/\($0)/cidr" }
            ),
            (
                #"{"data": {"a": [{"cidr": "10.0.0.0/-1"}, {"cidr": "10.0.0.0/+1"}, {"cidr": "1.2.3/8"}, {"cidr": 1}]}}"#,
                (0...3).map { "/data/a/\($0)/cidr" }
            ),
            (#"{"data": {"a": [{"exactly": 33}]}}"#, ["/data/a/0/exactly"]),
            (
                #"{"data": {"a": [{"prefix": {"suffix": "a"}}, {"suffix": {"equals-ignore-case": 5}}]}}"#,
                ["/data/a/0/prefix", "/data/a/1/suffix/equals-ignore-case"]
            ),
            (
                #"{"data": {"a": [{"anything-but": {"prefix": []}}, {"anything-but": {"wildcard": ["a", "b**"]}}]}}"#,
                ["/data/a/0/anything-but/prefix", "/data/a/1/anything-but/wildcard/1"]
            ),
            (#"{"data": {"a": [{"anything-but": {"cidr": "10.0.0.0/8"}}]}}"#, ["/data/a/0/anything-but"]),
            (#"{"$or": [{"type": ["a"]}]}"#, ["/$or"]), (#"{"$or": {"type": ["a"]}}"#, ["/$or"]),
            (#"{"$or": [{"type": ["a"]}, {}, 1, {"prefix": "x"}]}"#, ["/$or/1", "/$or/2", "/$or/3"]),
            (#"{"$or": [{"type": "a"}, {"detail": {}}]}"#, ["/$or/0/type", "/$or/1/detail"]),
            (#"{"data": {"$or": [{"a": [1]}]}}"#, ["/data/$or"]),
            (#"{"data": {"$or": [{}, {}]}}"#, ["/data/$or/0", "/data/$or/1"]),
            (#"{"data": {"$or": [{"a": [1]}, [{"b": [2]}]]}}"#, ["/data/$or/1"]),
            (#"{"data": {"$or": [{"a": [1]}, {"numeric": [">", 1]}]}}"#, ["/data/$or/1"]),
            (#"{"data": {"a": [{"prefix": 1}, {"suffix": null}]}}"#, ["/data/a/0/prefix", "/data/a/1/suffix"]),
            (#"{"data": {"a": [{"exists": "yes"}]}}"#, ["/data/a/0/exists"]),
            (#"{"data": {"a": [{"equals-ignore-case": []}]}}"#, ["/data/a/0/equals-ignore-case"]),
            (#"{"data": {"a": [{"numeric": 1}]}}"#, ["/data/a/0/numeric"]),
            (#"{"data": {"a": [{"numeric": []}]}}"#, ["/data/a/0/numeric"]),
            (#"{"data": {"a": [{"numeric": [">", 1, "<"]}]}}"#, ["/data/a/0/numeric"]),
            (#"{"data": {"a": [{"numeric": ["!=", 1]}]}}"#, ["/data/a/0/numeric/0"]),
            (#"{"data": {"a": [{"numeric": [">", 1, "<", "2"]}]}}"#, ["/data/a/0/numeric/3"]),
            (#"{"data": {"a": [{"numeric": [">", 1, ">", 2]}]}}"#, ["/data/a/0/numeric"]),
            (#"{"data": {"a": [{"numeric": ["=", 1, "<", 2]}]}}"#, ["/data/a/0/numeric"]),
            (#"{"data": {"a": [{"numeric": [">", 2, "<", 1]}]}}"#, ["/data/a/0/numeric"]),
            (#"{"data": {"a": [{"numeric": [">", 2, "<=", 2.0]}]}}"#, ["/data/a/0/numeric"]),
            (#"{"data": {"a": [{"anything-but": []}]}}"#, ["/data/a/0/anything-but"]),
            (#"{"data": {"a": [{"anything-but": [1, {"prefix": "x"}]}]}}"#, ["/data/a/0/anything-but/1"]),
            (#"{"data": {"a": [{"anything-but": {"exists": true}}]}}"#, ["/data/a/0/anything-but"]),
            (#"{"data": {"a": [{"anything-but": {"prefix": 1}}]}}"#, ["/data/a/0/anything-but/prefix"]),
        ])
    func places(json: String, pointers: [String]) {
        let (filter, errors) = compileFilter(json)
        #expect(filter == nil)
        #expect(errors.map(\.pointer) == pointers)
        #expect(errors.allSatisfy { !$0.detail.isEmpty })
    }

    @Test("all errors are reported at once, below the given pointer")
    func below() throws {
        var errors = [FieldError("/url", "is required")]
        let json = #"{"x": 1, "data": {"a": [{"prefix": 1}, "fine"], "b": []}, "type": ["ok"]}"#
        #expect(ContentFilter(try JSONDocument(parsing: json).root, at: "/filter", &errors) == nil)
        #expect(errors.map(\.pointer) == ["/url", "/filter/x", "/filter/data/a/0/prefix", "/filter/data/b"])
    }

    @Test(
        "what is valid and hardly meant is refused on request, with what is meant",
        arguments: [
            (#"{"data": {"a": {"numeric": [">", 0]}}}"#, "/data/a", #"[{"numeric":[">",0]}]"#),
            (#"{"data": {"a": {"anything-but": ["x", 1]}}}"#, "/data/a", #"[{"anything-but":["x",1]}]"#),
            (
                #"{"data": {"a": {"anything-but": {"prefix": ["x"]}}}}"#, "/data/a",
                #"[{"anything-but":{"prefix":["x"]}}]"#
            ),
            (#"{"data": {"a": [">=", 0, "<", 5]}}"#, "/data/a", #"[{"numeric":[">=",0,"<",5]}]"#),
            (#"{"type": ["order.paid", "order.*"]}"#, "/type/1", #"{"wildcard": "order.*"}"#),
            (
                #"{"data": {"$or": [{"a": {"numeric": [">", 0]}}, {"b": [1]}]}}"#, "/data/$or/0/a",
                #"[{"numeric":[">",0]}]"#
            ),
        ])
    func mistakes(json: String, pointer: String, meant: String) throws {
        #expect(compileFilter(json).errors.isEmpty)
        var errors: [FieldError] = []
        let root = try JSONDocument(parsing: json).root
        #expect(ContentFilter(root, at: "", &errors, refusesMistakes: true) == nil)
        #expect(errors.map(\.pointer) == [pointer])
        #expect(errors.first?.detail.hasSuffix(meant) == true, "\(errors)")
    }

    @Test(
        "a condition with one text or truth value is shown in its array",
        arguments: [#"{"prefix":"x"}"#, #"{"exists":true}"#, #"{"prefix":{"equals-ignore-case":"x"}}"#])
    func bareConditions(condition: String) throws {
        var errors: [FieldError] = []
        let root = try JSONDocument(parsing: #"{"data": {"a": \#(condition)}}"#).root
        #expect(ContentFilter(root, at: "", &errors, refusesMistakes: true) == nil)
        #expect(errors == [FieldError("/data/a", "must be an array with the condition, [\(condition)]")])
    }

    @Test(
        "members that are named like a condition can be examined",
        arguments: [
            #"{"data": {"name": {"prefix": ["Dr."]}}}"#, #"{"data": {"a": {"numeric": [{"exactly": ">"}, 0]}}}"#,
            #"{"data": {"a": [">", "<"]}}"#, #"{"data": {"a": ["order.*"]}, "type": [{"wildcard": "order.*"}]}"#,
        ])
    func membersLikeConditions(json: String) throws {
        var errors: [FieldError] = []
        #expect(ContentFilter(try JSONDocument(parsing: json).root, at: "", &errors, refusesMistakes: true) != nil)
        #expect(errors.isEmpty)
    }

    @Test("eight nested objects are accepted, nine are not")
    func depth() {
        func json(_ depth: Int) -> String {
            #"{"data":"# + String(repeating: #"{"a":"#, count: depth - 1) + "[1]" + String(repeating: "}", count: depth)
        }
        #expect(compileFilter(json(8)).filter != nil)
        #expect(
            compileFilter(json(9)).errors.map(\.pointer) == ["/data" + String(repeating: "/a", count: 7)])
    }

    @Test("alternatives count as a level")
    func depthOfAlternatives() {
        func json(_ depth: Int) -> String {
            #"{"data":"# + String(repeating: #"{"$or":[{"b":[1]},"#, count: depth - 1) + #"{"a":[1]}"#
                + String(repeating: "]}", count: depth - 1) + "}"
        }
        #expect(compileFilter(json(7)).errors.isEmpty)
        #expect(compileFilter(json(8)).errors.count == 2)
    }

    @Test("256 values are accepted, 257 are not; those of anything-but count")
    func leaves() {
        func json(_ count: Int) -> String {
            let values = (0..<count - 1).map(String.init).joined(separator: ",")
            return #"{"type": ["a"], "data": {"a": [{"anything-but": [\#(values)]}]}}"#
        }
        #expect(compileFilter(json(256)).filter != nil)
        #expect(compileFilter(json(257)).errors.map(\.pointer) == [""])
    }

    @Test("8 KiB without white space are accepted, and not one byte more")
    func bytes() {
        func json(_ count: Int) -> String {
            "{ \"type\" : [ \"" + String(repeating: "a", count: count - #"{"type":[""]}"#.utf8.count) + "\" ] }"
        }
        #expect(compileFilter(json(8192)).filter?.text.count == 8192)
        #expect(compileFilter(json(8193)).errors.map(\.pointer) == [""])
    }
}
