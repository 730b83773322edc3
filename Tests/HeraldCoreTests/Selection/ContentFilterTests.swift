import HeraldCore
import HeraldJSON
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
            #"[{"exists": true}]"#, accepts: ["1", "null", "false", #""""#, "[]", "{}", #"{"a": 1}"#], refuses: [""]),
        Case(#"[{"exists": false}]"#, accepts: [""], refuses: ["null", "0", "[]", "{}"]),
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
        #expect(String(decoding: spaced.text, as: UTF8.self) == #"{"type":["ab/"],"data":{"n":[1.0,{"exists":true}]}}"#)
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

    @Test("filters share the budget of the request, and each spends what it uses")
    func sharedBudget() throws {
        let filter = try #require(compileFilter(#"{"data": {"a": [1]}}"#).filter)
        let view = EventView(Event("order.paid", data: #"{"a": 2}"#), within: WorkBudget(steps: 20))
        #expect(!filter.matches(view))
        #expect(!view.budget.isSpent)
        for _ in 0..<10 { _ = filter.matches(view) }  // Means nothing in the end.
        #expect(view.budget.isSpent)
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
