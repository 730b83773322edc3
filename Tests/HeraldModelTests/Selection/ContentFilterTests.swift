import HeraldJSON
import HeraldModel
import HeraldTestSupport
import Testing

/// The filter in a text, or what is wrong with it.
func compileFilter(_ json: String) -> (filter: ContentFilter?, errors: [FieldError]) {
    var errors: [FieldError] = []
    guard let document = try? JSONDocument(parsing: json, limits: JSONLimits(values: .max)) else {
        return (nil, [FieldError("", "is not JSON")])
    }
    return (ContentFilter(document.root, at: "", &errors), errors)
}

@Suite("Content filters")
struct ContentFilterTests {
    /// Whether a filter on `data.v` with this array accepts an event with this `v`; without it when it is empty.
    private static func accepts(_ wanted: String, _ value: String) throws -> Bool {
        try matches(#"{"data": {"v": \#(wanted)}}"#, data: value.isEmpty ? "{}" : #"{"v": \#(value)}"#)
    }

    private static func matches(_ json: String, data: String) throws -> Bool {
        let (filter, errors) = compileFilter(json)
        #expect(errors.isEmpty)
        return try #require(filter).matches(EventView(Event("order.paid", data: data)))
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let wanted: String
        let accepted: [String]
        let refused: [String]
        var testDescription: String { wanted }
        init(_ wanted: String, accepts accepted: [String], refuses refused: [String]) {
            (self.wanted, self.accepted, self.refused) = (wanted, accepted, refused)
        }
    }

    // An empty text stands for a member that is missing.
    static let operatorCases: [Case] = [
        Case(
            #"["pro"]"#, accepts: [#""pro""#, #""\u0070ro""#],
            refuses: [#""Pro""#, #""pros""#, #""""#, "1", "null", ""]),
        Case(#"[""]"#, accepts: [#""""#], refuses: [#"" ""#, "null", "[]", "{}", ""]),
        Case(#"["a\n\"é"]"#, accepts: [#""a\u000a\"\u00e9""#, #""a\n\"é""#], refuses: [#""a\n\"e""#]),
        Case(
            "[1]", accepts: ["1", "1.0", "1e0", "10e-1", "0.01E+2"], refuses: ["1.00000000000000000001", "-1", #""1""#]),
        Case("[0]", accepts: ["0", "-0", "0.0", "0e99"], refuses: ["1e-400", "false", "null"]),
        Case(
            "[9007199254740993]", accepts: ["9007199254740993", "9007199254740993.0"],
            refuses: ["9007199254740992", "9007199254740994"]),
        Case("[true]", accepts: ["true"], refuses: ["false", "1", #""true""#, "null", ""]),
        Case("[false, null]", accepts: ["false", "null"], refuses: ["true", "0", #""""#, ""]),
        Case(#"["a", 2, true]"#, accepts: [#""a""#, "2", "true"], refuses: [#""b""#, "3", "false", "null"]),
        Case(
            #"[{"prefix": "team-"}]"#, accepts: [#""team-""#, #""team-1""#, #""\u0074eam-x""#],
            refuses: [#""team""#, #""Team-1""#, #""a team-""#, "1", "null", ""]),
        Case(
            #"[{"suffix": ".png"}]"#, accepts: [#"".png""#, #""a.png""#, #""é.\u0070ng""#],
            refuses: [#""png""#, #""a.PNG""#, #""a.png ""#, "1", ""]),
        Case(#"[{"prefix": ""}]"#, accepts: [#""""#, #""a""#], refuses: ["1", "null", ""]),
        Case(
            #"[{"equals-ignore-case": "Straße"}]"#, accepts: [#""straße""#, #""STRAßE""#, #""Stra\u00dfe""#],
            refuses: [#""STRASSE""#, #""straß""#, #""straßen""#, "1", ""]),
        Case(
            #"[{"equals-ignore-case": "kilo"}]"#, accepts: [#""KILO""#, #""kIlO""#, #""\u212aILO""#],
            refuses: [#""kil""#, #""kilos""#, #""k\u00cdlo""#, #""K@LO""#]),
        Case(#"[{"equals-ignore-case": "ÉTÉ"}]"#, accepts: [#""été""#, #""Été""#], refuses: [#""ete""#]),
        Case(
            #"[{"numeric": [">", 0]}]"#, accepts: ["1", "0.0000001", "1e-300", "1e400"],
            refuses: ["0", "-0.0", "-1", #""1""#, "true", "null", ""]),
        Case(#"[{"numeric": [">=", 0]}]"#, accepts: ["0", "-0", "7"], refuses: ["-1e-9"]),
        Case(#"[{"numeric": ["<", -1.5]}]"#, accepts: ["-1.6", "-2", "-1e9"], refuses: ["-1.5", "-1.50", "0", "1"]),
        Case(#"[{"numeric": ["<=", 5]}]"#, accepts: ["5", "5.0", "-5"], refuses: ["5.1"]),
        Case(#"[{"numeric": ["=", 3.018e2]}]"#, accepts: ["301.8", "3018e-1"], refuses: ["301.80001"]),
        Case(
            #"[{"numeric": [">", 0, "<=", 5]}]"#, accepts: ["1", "5", "4.99"], refuses: ["0", "5.01", "-3", "6"]),
        Case(#"[{"numeric": ["<=", 5, ">", 0]}]"#, accepts: ["1", "5"], refuses: ["0", "6"]),
        Case(
            #"[{"numeric": [">", 100000000000000000000000000000]}]"#,
            accepts: ["100000000000000000000000000001", "1e30"],
            refuses: ["1e29", "99999999999999999999999999999"]),
        Case(
            #"[{"exists": true}]"#, accepts: ["1", "null", "false", #""""#, "[[], [1]]"],
            refuses: ["", "[]", "{}", #"{"a": 1}"#, #"[{"a": 1}]"#]),
        Case(
            #"[{"exists": false}]"#, accepts: ["", "[]", "{}", #"{"a": 1}"#, "[[{}]]"], refuses: ["null", "0", "[[0]]"]),
        Case(#"[{"exists": false}, {"exists": true}]"#, accepts: ["", "1", "[]"], refuses: []),
        Case(#"["pro", {"exists": false}]"#, accepts: [#""pro""#, ""], refuses: [#""free""#, "null"]),
        Case(
            #"[{"anything-but": "a"}]"#, accepts: [#""b""#, "1", "null", "true", #""""#],
            refuses: [#""a""#, "{}", "[]", ""]),
        Case(#"[{"anything-but": 100}]"#, accepts: ["101", #""100""#], refuses: ["100", "1e2", "100.0"]),
        Case(
            #"[{"anything-but": ["a", 1, null]}]"#, accepts: [#""b""#, "2", "true"],
            refuses: [#""a""#, "1.0", "null", ""]),
        Case(
            #"[{"anything-but": {"prefix": "init"}}]"#, accepts: [#""done""#, #""ini""#, "1"],
            refuses: [#""initializing""#, ""]),
        Case(#"[{"anything-but": {"suffix": ".png"}}]"#, accepts: [#""a.gif""#], refuses: [#""a.png""#]),
        Case(
            #"[{"anything-but": {"equals-ignore-case": "off"}}]"#, accepts: [#""on""#], refuses: [#""OFF""#, #""off""#]),
        Case(#"[{"exactly": "a*"}]"#, accepts: [#""a*""#], refuses: [#""ab""#, #""A*""#, "1", ""]),
        Case(
            #"[{"wildcard": "*/bin/*.jar"}]"#, accepts: [#""/bin/.jar""#, #""/usr/bin/a/bin/b.jar""#],
            refuses: [#""/usr/bin.jar""#, #""/bin/a.jar ""#, #""bin/a.jar""#, "1", "null", ""]),
        Case(#"[{"wildcard": "*"}]"#, accepts: [#""""#, #""a""#, "[1, \"x\"]"], refuses: ["1", "true", "[]", ""]),
        Case(#"[{"wildcard": ""}]"#, accepts: [#""""#], refuses: [#""a""#, "1"]),
        Case(#"[{"wildcard": "ab"}]"#, accepts: [#""ab""#], refuses: [#""abc""#, #""xab""#]),
        Case(#"[{"wildcard": "ab*ba"}]"#, accepts: [#""abba""#, #""abxba""#], refuses: [#""aba""#, #""ab""#]),
        Case(
            #"[{"wildcard": "*aab*aab*"}]"#, accepts: [#""aaabaaab""#, #""xaabyaabz""#],
            refuses: [#""aaab""#, #""aabab""#]),
        Case(
            #"[{"wildcard": "a\\*b\\\\*"}]"#, accepts: [#""a*b\\""#, #""a*b\\c""#], refuses: [#""axb\\""#, #""a*bc""#]),
        Case(#"[{"wildcard": "é*ü"}]"#, accepts: [#""éü""#, #""\u00e9 \u00fc""#], refuses: [#""e\u0301ü""#]),
        Case(
            #"[{"anything-but": {"wildcard": ["*.jar", "*.class"]}}]"#, accepts: [#""a.war""#, "1"],
            refuses: [#""a.jar""#, #"".class""#, ""]),
        Case(
            #"[{"anything-but": {"prefix": ["a", "b"]}}]"#, accepts: [#""c""#, #""""#], refuses: [#""ab""#, #""b""#]),
        Case(
            #"[{"anything-but": {"suffix": ["a", "b"]}}]"#, accepts: [#""c""#, #""""#], refuses: [#""ba""#, #""b""#]),
        Case(
            #"[{"anything-but": {"equals-ignore-case": ["On", "OFF"]}}]"#, accepts: [#""of""#],
            refuses: [#""on""#, #""off""#]),
        Case(
            #"[{"prefix": {"equals-ignore-case": "Straße "}}]"#, accepts: [#""STRAßE 7""#, #""straße ""#],
            refuses: [#""straße""#, #""strasse 7""#, #""a straße ""#, "1"]),
        Case(
            #"[{"suffix": {"equals-ignore-case": "kÉ"}}]"#, accepts: [#""\u212aé""#, #""Xké""#, #""ééKÉ""#],
            refuses: [#""kéx""#, #""é""#, #""ke""#, "1"]),
        Case(
            #"[{"suffix": {"equals-ignore-case": ".PNG"}}]"#, accepts: [#""é.png""#, #"".Png""#],
            refuses: [#""png""#, #"".png ""#]),
        Case(
            #"[{"cidr": "10.0.0.0/24"}]"#,
            accepts: [#""10.0.0.0""#, #""10.0.0.255""#, #""::ffff:10.0.0.7""#],
            refuses: [
                #""10.0.1.0""#, #""10.0.0""#, #""10.0.0.1\u0000""#, #""10.0.0.1/24""#, #"" 10.0.0.1""#, "10", #""::1""#,
                "",
            ]),
        Case(#"[{"cidr": "10.0.0.77/8"}]"#, accepts: [#""10.255.0.1""#], refuses: [#""11.0.0.1""#]),
        Case(#"[{"cidr": "10.0.0.1/32"}]"#, accepts: [#""10.0.0.1""#], refuses: [#""10.0.0.0""#]),
        Case(
            #"[{"cidr": "::ffff:10.0.0.0/104"}]"#, accepts: [#""10.255.0.1""#, #""::ffff:10.0.0.7""#],
            refuses: [#""11.0.0.1""#, #""::1""#]),
        Case(#"[{"cidr": "::ffff:10.0.0.0/95"}]"#, accepts: [#""::fffe:0:1""#], refuses: [#""10.0.0.1""#, #""::1""#]),
        Case(#"[{"cidr": "0.0.0.0/0"}]"#, accepts: [#""255.1.2.3""#], refuses: [#""::""#, #""a""#]),
        Case(
            #"[{"cidr": "2001:db8::/33"}]"#, accepts: [#""2001:db8::1""#, #""2001:DB8:7fff::""#],
            refuses: [#""2001:db8:8000::""#, #""2001:db9::""#, #""10.0.0.1""#, #""[2001:db8::1]""#]),
    ]

    @Test("every operator accepts its values and no others", arguments: operatorCases)
    func everyOperator(_ example: Case) throws {
        for value in example.accepted { #expect(try Self.accepts(example.wanted, value), "\(value)") }
        for value in example.refused { #expect(try !Self.accepts(example.wanted, value), "\(value)") }
    }

    @Test("of an array in the event, one element must match, at any depth of arrays")
    func arrays() throws {
        #expect(try Self.accepts(#"["a"]"#, #"["b", "a"]"#))
        #expect(try Self.accepts(#"["a"]"#, #"[1, [["a"]], {"x": 1}]"#))
        #expect(try !Self.accepts(#"["a"]"#, #"["b", {"a": "a"}, []]"#))
        #expect(try Self.accepts(#"[{"anything-but": "a"}]"#, #"["a", "b"]"#))
        #expect(try !Self.accepts(#"[{"anything-but": "a"}]"#, #"["a", "a"]"#))
        #expect(try Self.accepts(#"[{"numeric": [">", 1]}]"#, "[0, 2]"))
        #expect(try Self.matches(#"{"data": ["a"]}"#, data: #"["b", "a"]"#))
    }

    @Test("members of one object in the filter must match one element of an array")
    func arraysOfObjects() throws {
        let people =
            #"{"people": [{"first": "Anna", "last": "Smith"}, [{"first": "Peter", "last": "Jones", "age": 5}]]}"#
        func matches(_ clauses: String) throws -> Bool {
            try Self.matches(#"{"data": {"people": \#(clauses)}}"#, data: people)
        }
        #expect(try matches(#"{"first": ["Anna"]}"#))
        #expect(try matches(#"{"first": ["Peter"], "last": ["Jones"]}"#))
        #expect(try !matches(#"{"first": ["Anna"], "last": ["Jones"]}"#))
        #expect(try matches(#"{"first": ["Anna"], "age": [{"exists": false}]}"#))
        #expect(try !matches(#"{"first": ["Peter"], "age": [{"exists": false}]}"#))
    }

    @Test("keys are combined with and, at every depth; missing values and non-objects have no members")
    func nesting() throws {
        let filter = #"{"data": {"user": {"plan": ["pro"], "team": {"size": [{"numeric": [">", 1]}]}}}}"#
        #expect(try Self.matches(filter, data: #"{"user": {"plan": "pro", "team": {"size": 2}}, "more": 1}"#))
        for data in [
            #"{"user": {"plan": "pro", "team": {"size": 1}}}"#, #"{"user": {"plan": "free", "team": {"size": 2}}}"#,
            #"{"user": {"plan": "pro"}}"#, #"{"user": {"plan": "pro", "team": 2}}"#, #"{"user": "pro"}"#, "{}", "null",
        ] {
            #expect(try !Self.matches(filter, data: data), "\(data)")
        }
        let absent = #"{"data": {"user": {"plan": [{"exists": false}]}}}"#
        for data in ["{}", "null", "1", #"{"user": null}"#, #"{"user": {}}"#, #"{"user": []}"#, #"{"user": [1]}"#] {
            #expect(try Self.matches(absent, data: data), "\(data)")
        }
        #expect(try !Self.matches(absent, data: #"{"user": {"plan": null}}"#))
    }

    @Test("id, type, subject and time are strings of the event")
    func fields() throws {
        let event = Event("order.paid", id: "evt_1", subject: "order:7")
        func matches(_ json: String) throws -> Bool {
            try #require(compileFilter(json).filter).matches(EventView(event))
        }
        #expect(try matches(#"{"id": ["evt_1"], "type": [{"prefix": "order."}], "subject": [{"suffix": ":7"}]}"#))
        #expect(try !matches(#"{"id": ["evt_2"]}"#))
        #expect(try matches(#"{"time": [{"prefix": "2025-10-09T08:53:20.000Z"}]}"#))
        #expect(try !matches(#"{"subject": [{"exists": false}]}"#))
        #expect(try !matches(#"{"subject": [7, null, {"numeric": ["=", 7]}]}"#))
        let without = EventView(Event("a"))
        #expect(try #require(compileFilter(#"{"subject": [{"exists": false}]}"#).filter).matches(without))
        #expect(try !#require(compileFilter(#"{"subject": [{"anything-but": "x"}]}"#).filter).matches(without))
    }

    @Test("of alternatives, one must match, in the object that has them")
    func alternatives() throws {
        let filter =
            #"{"data": {"$or": [{"a": [1]}, {"b": [2], "c": [3]}, {"$or": [{"d": [4]}, {"e": [5]}]}], "z": [0]}}"#
        for data in [
            #"{"a": 1, "z": 0}"#, #"{"b": 2, "c": 3, "z": 0}"#, #"{"d": 4, "z": 0}"#, #"{"e": 5, "a": 2, "z": 0}"#,
            #"[{"a": 1}, {"e": 5, "z": 0}]"#,
        ] {
            #expect(try Self.matches(filter, data: data), "\(data)")
        }
        for data in ["{}", #"{"a": 1}"#, #"{"b": 2, "z": 0}"#, #"{"c": 3, "z": 0}"#, #"[{"a": 1}, {"z": 0}]"#, "1"] {
            #expect(try !Self.matches(filter, data: data), "\(data)")
        }
        let absent = #"{"data": {"$or": [{"a": [{"exists": false}]}, {"b": [1]}]}}"#
        #expect(try Self.matches(absent, data: "{}") && Self.matches(absent, data: "null"))
        #expect(try !Self.matches(absent, data: #"{"a": 1, "b": 2}"#))
    }

    @Test("without members, $or in the data is a member of the event")
    func memberNamedOr() throws {
        #expect(try Self.matches(#"{"data": {"$or": ["a", {"prefix": "b"}]}}"#, data: #"{"$or": "bc"}"#))
        #expect(try Self.matches(#"{"data": {"$or": {"a": [1]}}}"#, data: #"{"$or": {"a": 1}}"#))
        #expect(try !Self.matches(#"{"data": {"$or": {"a": [1]}}}"#, data: #"{"a": 1}"#))
    }

    @Test("alternatives of the event itself may examine its data")
    func alternativesOfEvents() throws {
        let json =
            #"{"$or": [{"data": {"a": [1]}}, {"source": ["/shop"], "$or": [{"id": ["x"]}, {"type": ["order.paid"]}]}]}"#
        let filter = try #require(compileFilter(json).filter)
        func matches(_ source: String?, data: String) -> Bool {
            let attributes = source.map { [KeyValue("source", $0)] } ?? []
            return filter.matches(EventView(Event("order.paid", id: "y", attributes: attributes, data: data)))
        }
        #expect(matches(nil, data: #"{"a": 1}"#) && matches("/shop", data: "1"))
        #expect(!matches(nil, data: "1") && !matches("/else", data: #"{"a": 2}"#))
    }

    @Test("the source is that of a CloudEvent, and other events have none")
    func source() throws {
        let filter = try #require(compileFilter(#"{"source": [{"wildcard": "https://*.example/*"}]}"#).filter)
        let event = Event("a", id: "e", attributes: [KeyValue("source", "https://shop.example/1")])
        #expect(filter.matches(EventView(event)) && !filter.matches(EventView(Event("a"))))
        let none = try #require(compileFilter(#"{"source": [{"exists": false}]}"#).filter)
        #expect(none.matches(EventView(Event("a"))) && !none.matches(EventView(event)))
    }

    @Test("channels are an array of names, and other events have none")
    func channels() throws {
        let event = Event("a", id: "e", attributes: [EventChannels.pair(["eu", "project_1"])])
        func matches(_ clause: String, _ event: Event) throws -> Bool {
            try #require(compileFilter("{\"channels\": \(clause)}").filter).matches(EventView(event))
        }
        for clause in [
            #"["eu"]"#, #"["us", "project_1"]"#, #"[{"prefix": "project_"}]"#, #"[{"anything-but": "eu"}]"#,
            #"[{"exists": true}]"#,
        ] {
            #expect(try matches(clause, event) && !matches(clause, Event("a")), "\(clause)")
        }
        for clause in [#"["us"]"#, #"["eu,project_1"]"#, #"["project"]"#, #"[{"exists": false}]"#] {
            #expect(try !matches(clause, event), "\(clause)")
        }
        #expect(try matches(#"[{"exists": false}]"#, Event("a")))
        let filter = try #require(compileFilter(#"{"channels": ["us"]}"#).filter)
        #expect(
            filter.mismatch(EventView(event))?.description
                == #"/channels: expected "us", found ["eu","project_1"]"#)
        #expect(filter.mismatch(EventView(Event("a")))?.found == "nothing")
        #expect(compileFilter(#"{"channels": {"x": ["eu"]}}"#).filter == nil)
    }

    @Test("data of the maximum size is examined")
    func largeData() throws {
        let data = "{\"many\": [" + Array(repeating: "1", count: 50_000).joined(separator: ",") + "], \"last\": \"x\"}"
        #expect(try Self.matches(#"{"data": {"last": ["x"]}}"#, data: data))
        #expect(try !Self.matches(#"{"data": {"many": [2]}}"#, data: data))
    }

    @Test("the text form is compact, is a filter again, and determines equality")
    func text() throws {
        let spaced = try #require(
            compileFilter("{ \"type\": [ \"a\\u0062\\/\" ],\n \"data\": {\"n\": [1.0, {\"exists\": true}]}}").filter)
        #expect(String(decoding: spaced.text, as: UTF8.self) == #"{"data":{"n":[1.0,{"exists":true}]},"type":["ab/"]}"#)
        #expect(ContentFilter(text: spaced.text) == spaced)
        #expect(compileFilter(#"{"type": ["a"]}"#).filter != spaced)
        for text in ["", "{", "[]", #"{"x": [1]}"#] { #expect(ContentFilter(text: Array(text.utf8)) == nil, "\(text)") }
    }

    @Test("an event that exceeds the filter's budget matches it")
    func budget() throws {
        let texts = (0..<200).map { "{\"suffix\": \"\($0)x\"}" }.joined(separator: ",")
        let filter = try #require(compileFilter(#"{"data": {"kind": ["a"], "list": [\#(texts)]}}"#).filter)
        func view(_ kind: String, _ count: Int) -> EventView {
            let list = (0..<count).map { "\"\($0)\"" }.joined(separator: ",")
            return EventView(Event("order.paid", data: #"{"kind": "\#(kind)", "list": [\#(list)]}"#))
        }
        #expect(!filter.matches(view("a", 100)))
        #expect(filter.mismatch(view("a", 100))?.pointer == "/data/list")
        #expect(filter.matches(view("a", 10_000)))
        #expect(filter.mismatch(view("a", 10_000)) == nil)
        // What was decided before stays so.
        #expect(!filter.matches(view("b", 10_000)))
    }

    @Test("the work of wildcards and alternatives is bounded for the worst text")
    func boundedSearch() throws {
        let text = String(repeating: "a", count: 200_000)
        let wildcards = (0..<100).map { #"{"wildcard": "*aaaaaaaaaaaaaaaa\#($0)*"}"# }.joined(separator: ",")
        let alternatives = (0..<200).map { #"{"v": [{"wildcard": "*a*a*a*b\#($0)*"}]}"# }.joined(separator: ",")
        for json in [#"{"data": {"v": [\#(wildcards)]}}"#, #"{"data": {"$or": [\#(alternatives)]}}"#] {
            let filter = try #require(compileFilter(json).filter)
            // One text for each step of the budget, and no more.
            let view = EventView(Event("a", data: #"{"v": "\#(text)"}"#), within: WorkBudget(steps: 10_000_000))
            #expect(filter.matches(view))
            let spent = 10_000_000 - view.budget.left
            #expect((ContentFilter.maxSteps..<ContentFilter.maxSteps + 6_000_000).contains(spent))
        }
        // A short text is decided.
        let filter = try #require(compileFilter(#"{"data": {"$or": [\#(alternatives)]}}"#).filter)
        #expect(!filter.matches(EventView(Event("a", data: #"{"v": "aaaaab"}"#))))
        #expect(filter.matches(EventView(Event("a", data: #"{"v": "aaaaab199"}"#))))
    }

    @Test("filters share the budget of the request, and each spends what it uses")
    func sharedBudget() throws {
        let filter = try #require(compileFilter(#"{"data": {"a": [1]}}"#).filter)
        let view = EventView(Event("order.paid", data: #"{"a": 2}"#), within: WorkBudget(steps: 20))
        #expect(!filter.matches(view))
        #expect(!view.budget.isSpent)
        for _ in 0..<10 { _ = filter.matches(view) }  // Means nothing in the end.
        #expect(view.budget.isSpent)
    }

    @Test("to find a member costs the escapes of its name")
    func escapedNames() throws {
        func name(_ letter: String) -> String { String(repeating: letter, count: 256) }
        let filter = try #require(compileFilter(#"{"data": {"\#(name("a"))": [1]}}"#).filter)
        func steps(_ letter: String) -> Int {
            let view = EventView(Event("order.paid", data: #"{"\#(name(letter))": 1}"#))
            #expect(filter.matches(view))
            return view.steps
        }
        // To parse the longer text costs 160.
        #expect(steps(#"\u0061"#) > steps("a") + 160 + 256)
    }

    @Test("a filter stops when the budget of the request is exhausted")
    func remainingBudget() throws {
        let texts = (0..<200).map { "{\"suffix\": \"\($0)x\"}" }.joined(separator: ",")
        let filter = try #require(compileFilter(#"{"data": {"list": [\#(texts)]}}"#).filter)
        let list = (0..<10_000).map { "\"\($0)\"" }.joined(separator: ",")
        let event = Event("order.paid", data: #"{"list": [\#(list)]}"#)
        let view = EventView(event, within: WorkBudget(steps: 20_000))
        _ = filter.mismatch(view)
        #expect(view.budget.isSpent && view.budget.left > -10_000)
    }
}
