import HeraldModel
import HeraldTestSupport
import Testing

/// Patterns and events in the style of the documentation and tests of event-ruler, Amazon's library for EventBridge, with
/// its results.
@Suite("Patterns of EventBridge")
struct EventBridgeTests {
    private static let instance = #"""
        {"version": "0", "detail-type": "EC2 Instance State-change Notification", "source": "aws.ec2",
         "time": "2017-10-02T16:24:49Z", "resources": ["arn:aws:ec2:us-east-1:123456789012:instance/i-000000aaaaaa00000"],
         "account": 123456789012, "detail": {"c-count": 5, "d-count": 3, "x-limit": 301.8, "source-ip": "10.0.0.33",
         "instance-id": "i-000000aaaaaa00000", "state": "running"}}
        """#
    private static let image = #"""
        {"Image": {"Width": 800, "Height": 600, "Title": "View from 15th Floor", "Animated": false,
         "Thumbnail": {"Url": "http://www.example.com/image/481989943", "Height": 125, "Width": 100}, "IDs": [116, 943]}}
        """#
    private static let employees = #"""
        {"employees": [[{"firstName": "John", "lastName": "Doe", "ids": [1234, 1000, 9999]},
         {"firstName": "Anna", "lastName": "Smith"}], [{"firstName": "Peter", "lastName": "Jones", "ids": []}]]}
        """#

    /// Whether a pattern for the data matches; `nil` if it is refused.
    private func matches(_ pattern: String, _ event: String) -> Bool? {
        compileFilter(#"{"data": \#(pattern)}"#).filter?.matches(EventView(Event("a.b", data: event)))
    }

    @Test(
        "match the events that they match there",
        arguments: [
            (
                #"{"detail-type": ["EC2 Instance State-change Notification"], "detail": {"state": ["initializing", "running"]}}"#,
                instance
            ),
            (#"{"resources": ["arn:aws:ec2:us-east-1:123456789012:instance/i-000000aaaaaa00000"]}"#, instance),
            (#"{"time": [{"prefix": "2017-10-02"}]}"#, instance),
            (#"{"source": [{"prefix": {"equals-ignore-case": "AWS"}}]}"#, instance),
            (#"{"source": [{"suffix": "ec2"}]}"#, instance),
            (#"{"source": [{"suffix": {"equals-ignore-case": "EC2"}}]}"#, instance),
            (#"{"source": [{"equals-ignore-case": "AWS.EC2"}]}"#, instance),
            (#"{"source": [{"wildcard": "a*.ec*"}], "account": [123456789012]}"#, instance),
            (
                #"{"detail": {"state": [{"anything-but": "initializing"}], "x-limit": [{"anything-but": 123}]}}"#,
                instance
            ),
            (#"{"detail": {"state": [{"anything-but": ["stopped", "overloaded"]}]}}"#, instance),
            (#"{"detail": {"x-limit": [{"anything-but": [100, 200, 300]}]}}"#, instance),
            (#"{"detail": {"state": [{"anything-but": {"prefix": "init"}}]}}"#, instance),
            (#"{"detail": {"state": [{"anything-but": {"prefix": ["init", "error"]}}]}}"#, instance),
            (#"{"detail": {"instance-id": [{"anything-but": {"suffix": ["1234", "6789"]}}]}}"#, instance),
            (
                #"{"detail": {"state": [{"anything-but": {"equals-ignore-case": ["Stopped", "OverLoaded"]}}]}}"#,
                instance
            ),
            (#"{"detail": {"state": [{"anything-but": {"wildcard": ["*/bin/*.jar", "*/bin/*.class"]}}]}}"#, instance),
            (
                #"{"detail": {"c-count": [{"numeric": [">", 0, "<=", 5]}], "d-count": [{"numeric": ["<", 10]}], "x-limit": [{"numeric": ["=", 3.018e2]}]}}"#,
                instance
            ),
            (#"{"detail": {"source-ip": [{"cidr": "10.0.0.0/24"}]}}"#, instance),
            (
                #"{"detail": {"source-ip": [{"cidr": "10.0.0.0/8"}], "c-count": [{"exists": true}], "no": [{"exists": false}]}}"#,
                instance
            ),
            (
                #"{"detail": {"c-count": [{"exists": false}]}}"#,
                #"{"detail": {"state": "running", "c-count": {"c1": 100}}}"#
            ),
            (#"{"Image": {"Width": [800], "Thumbnail": {"Height": [125, 300], "Url": [{"prefix": "http"}]}}}"#, image),
            (#"{"Image": {"Title": [{"prefix": {"equals-ignore-case": "VIeW"}}], "Animated": [false]}}"#, image),
            (#"{"Image": {"Title": [{"suffix": {"equals-ignore-case": "LoOr"}}, {"suffix": "loor"}]}}"#, image),
            (
                #"{"Image": {"Thumbnail": {"Height": [{"numeric": [">", 124, "<", 126]}], "Width": [{"numeric": [">=", 99.999, "<=", 100]}]}}}"#,
                image
            ),
            (#"{"employees": {"firstName": ["Anna"]}}"#, employees),
            (#"{"employees": {"firstName": ["John"], "ids": [1000]}}"#, employees),
            (#"{"employees": {"firstName": ["Anna"], "ids": [{"exists": false}]}}"#, employees),
            (#"{"employees": {"firstName": ["Peter"], "ids": [{"exists": false}]}}"#, employees),
            (#"{"a": [133.3], "b": [{"cidr": "192.0.2.0/24"}]}"#, #"{"a": 133.3, "b": "192.0.2.0"}"#),
            (
                #"{"a": [{"wildcard": "*bc"}], "b": [{"wildcard": "d*f"}], "c": [{"wildcard": "xy*"}]}"#,
                #"{"a": "abcbc", "b": "deeeef", "c": "xy"}"#
            ),
            (#"{"b": [{"wildcard": "d*ff"}], "d": [{"wildcard": "12*4*"}]}"#, #"{"b": "dexeff", "d": "12345"}"#),
            (
                #"{"d": {"a": ["target"], "b": ["found"]}}"#,
                #"{"d": [{"a": "x"}, {"a": "target", "b": "found"}, {"a": "z"}]}"#
            ),
            (
                #"{"i": {"p": [{"numeric": [">", 0, "<", 100]}], "n": [{"exists": true}]}}"#,
                #"{"i": [{"n": "w", "p": 50}, {"n": "g", "p": 200}]}"#
            ),
            (
                #"{"u": {"s": [{"anything-but": "banned"}], "n": [{"exists": true}]}}"#,
                #"{"u": [{"n": "a", "s": "banned"}, {"n": "b", "s": "active"}]}"#
            ),
            (
                #"{"a": {"b": {"x": [{"exists": true}], "y": [{"exists": true}]}}}"#,
                #"{"a": [{"b": [{"x": 1, "y": 2}]}]}"#
            ),
            (
                #"{"users": {"name": [{"exists": true}]}, "tags": ["admin"]}"#,
                #"{"users": [{"name": "alice"}], "tags": ["admin", "user"]}"#
            ),
            (#"{"d": {"a": [{"exists": true}], "b": [{"exists": false}]}}"#, #"{"d": [{"a": 1}]}"#),
            (
                #"{"source": ["aws.ec2"], "$or": [{"x": ["y"]}, {"version": ["0"], "$or": [{"account": [1]}, {"detail": {"d-count": [3]}}]}]}"#,
                instance
            ),
            (
                #"{"$or": [{"version": ["1"]}, {"source": ["aws.ec2"]}], "detail": {"$or": [{"state": ["stopped"]}, {"c-count": [5]}]}}"#,
                instance
            ),
            (#"{"$or": [{"bar": ["1"]}, {"bar": ["2"]}], "foo": ["a"]}"#, #"{"foo": "a", "bar": "2"}"#),
            (
                #"{"source": ["a"], "$or": {"metricType": ["m"], "namespace": ["n"]}}"#,
                #"{"source": "a", "$or": {"metricType": "m", "namespace": "n"}}"#
            ),
            (
                #"{"detail": {"$or": [{"numeric": [">", 0, "<=", 5]}, {"cidr": "10.0.0.0/8"}]}}"#,
                #"{"detail": {"$or": "10.1.2.3"}}"#
            ),
            (
                #"{"a": [{"exactly": "child"}], "b": [{"anything-but": {"equals-ignore-case": ""}}]}"#,
                #"{"a": "child", "b": "x"}"#
            ),
        ])
    func matching(pattern: String, event: String) { #expect(matches(pattern, event) == true) }

    @Test(
        "do not match the events that they do not match there",
        arguments: [
            (#"{"source": [{"prefix": {"equals-ignore-case": "EC2"}}]}"#, instance),
            (#"{"detail": {"source-ip": [{"cidr": "10.0.1.0/24"}]}}"#, instance),
            (#"{"detail": {"state": [{"exists": true}]}}"#, #"{"detail": {"state": {"now": 1}}}"#),
            (#"{"Image": {"Width": [{"numeric": ["<", 800]}]}}"#, image),
            (#"{"Image": {"Title": [{"anything-but": "View from 15th Floor"}]}}"#, image),
            (#"{"Image": {"Thumbnail": {"Url": [{"prefix": "https"}]}}}"#, image),
            (#"{"Image": {"Thumbnail": {"Width": [{"numeric": [">=", 100.00001, "<=", 1001]}]}}}"#, image),
            (#"{"Image": {"Animated": [true]}}"#, image), (#"{"employees": ["b"]}"#, employees),
            (#"{"employees": {"firstName": ["Anna"], "lastName": ["Jones"]}}"#, employees),
            (#"{"employees": {"firstName": ["Anna"], "ids": [1000]}}"#, employees),
            (#"{"employees": {"firstName": ["Anna"], "ids": [{"exists": true}]}}"#, employees),
            (#"{"b": [{"wildcard": "d*f"}]}"#, #"{"b": "deeeefx"}"#),
            (#"{"b": [{"wildcard": "d*f"}]}"#, #"{"b": "ef"}"#),
            (#"{"d": [{"wildcard": "12*4*"}]}"#, #"{"d": "1235"}"#),
            (#"{"c": [{"wildcard": "xy*"}]}"#, #"{"c": "abcxyz"}"#),
            (#"{"w": [{"anything-but": {"prefix": "zax"}}]}"#, #"{"w": "zaxonie"}"#),
            (#"{"p": [{"anything-but": {"equals-ignore-case": ["CamelCase", "AbC"]}}]}"#, #"{"p": "abc"}"#),
            (#"{"a": [{"anything-but": ["dad0", "dad1"]}]}"#, #"{"a": "dad1"}"#),
            (#"{"b": [{"anything-but": [111, 222]}]}"#, #"{"b": 111}"#),
            (#"{"d": {"a": [{"exists": true}], "b": [{"exists": true}]}}"#, #"{"d": [{"a": 1}, {"b": 2}]}"#),
            (#"{"u": {"t": {"k": ["color"], "v": ["blue"]}}}"#, #"{"u": [{"t": [{"k": "color"}, {"v": "blue"}]}]}"#),
            (#"{"d": {"a": [{"exists": true}]}}"#, #"{"d": []}"#),
            (#"{"d": {"a": [{"exists": true}], "b": [{"exists": false}]}}"#, #"{"d": [{"a": 1, "b": 2}]}"#),
            (#"{"$or": [{"bar": ["1"]}, {"bar": ["2"]}], "foo": ["a"]}"#, #"{"foo": "a", "bar": "3"}"#),
            (#"{"$or": [{"zoo": ["1"], "bar": ["x"]}, {"foo": ["a"], "bar": ["y"]}]}"#, #"{"zoo": "1", "bar": "y"}"#),
            (#"{"x": ["X"]}"#, #"{"x": true}"#), (#"{"z": [{"numeric": [">", 0, "<", 1]}]}"#, #"{"z": 1.01}"#),
        ])
    func notMatching(pattern: String, event: String) { #expect(matches(pattern, event) == false) }

    @Test(
        "are refused where they are refused there",
        arguments: [
            "[[1], 2]", #"{"a": 1}"#, #"{"a": [{"x": 2}]}"#, #"{"foo": {}}"#, #"{"foo": []}"#,
            #"{"a": [{"exactly": 33}]}"#,
            #"{"a": [{"prefix": "child", "foo": []}]}"#, #"{"a": [{"prefix": 3}]}"#, #"{"a": [{"suffix": [1, 2, 3]}]}"#,
            #"{"a": [{"cidr": "foo"}]}"#, #"{"a": [{"cidr": "foo/bar/baz"}]}"#,
            #"{"a": [{"cidr": "192.168.0.1/foo"}]}"#,
            #"{"a": [{"cidr": "192.168.0.1/33"}]}"#, #"{"a": [{"cidr": "10.10.10.10.10/3"}]}"#,
            #"{"a": [{"cidr": "2.1.0.-1/3"}]}"#,
            #"{"a": [{"cidr": "2400:6500:FF00::36FB:1F80/222"}]}"#, #"{"a": [{"anything-but": {"foo": 3}}]}"#,
            #"{"a": [{"anything-but": {"prefix": 27}}]}"#, #"{"a": [{"anything-but": {"suffix": [1, 2]}}]}"#,
            #"{"a": [{"anything-but": {"prefix": "foo", "a": 1}}]}"#,
            #"{"a": [{"anything-but": {"prefix": "foo"}, "x": 1}]}"#,
            #"{"a": [{"anything-but": {"equals-ignore-case": [1, 2]}}]}"#,
            #"{"a": [{"anything-but": {"wildcard": "foo**bar"}}]}"#,
            #"{"a": [{"anything-but": {"wildcard": ["1", "foo*bar\\"]}}]}"#,
            #"{"a": [{"equals-ignore-case": ["abc"]}]}"#,
            #"{"a": [{"prefix": {"invalid-expression": ["abc"]}}]}"#,
            #"{"a": [{"suffix": {"equals-ignore-case": ["abc"]}}]}"#,
            #"{"a": [{"prefix": {"equals-ignore-case": "abc", "test": "def"}}]}"#, #"{"a": [{"wildcard": ["abc"]}]}"#,
            #"{"a": [{"numeric": ["<>", 1, ">", 0]}]}"#, #"{"a": [{"numeric": [">", 30, "<", 1]}]}"#,
            #"{"a": [{"numeric": ["="]}]}"#,
            #"{"$or": [{"metricName": ["CPUUtilization"]}]}"#,
            #"{"detail": {"$or": [{"source": ["a"]}, {"detail-type": ["b"]}, [{"foo": ["wrong"]}]]}}"#,
        ])
    func refused(pattern: String) { #expect(matches(pattern, "{}") == nil) }
}
