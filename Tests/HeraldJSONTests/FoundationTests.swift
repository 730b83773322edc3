import Foundation
import HeraldJSON
import Testing

@Suite("JSON and another implementation of it")
struct FoundationTests {
    @Test("valid documents have the values that Foundation reads", arguments: texts)
    func foundation(_ text: String) throws {
        let theirs = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        #expect(isEqual(try JSONDocument(parsing: text).root, theirs))
    }

    static let texts = [
        #"{"type":"order.created","id":"evt_1","time":"2026-11-21T10:00:00.000Z","data":{"total":129.9,"paid":true}}"#,
        #"[1,-2,0.5,1e10,-1.5E-3,[],{},[[]],null,true,false,"",9007199254740993]"#,
        #"{"a":{"b":{"c":[{"d":"e"},{"d":"f"}]}},"\u0061\n":"\ud83d\ude00 \\ \" \/ \b\f\n\r\t","é":"日本語😀"}"#,
        "  [ 1 , 2\t,\r\n 3 ]  ", #""\u00e9\u20ac\uffff""#, "-0.0", #"{"":[{"":{"":[]}}]}"#,
        "{" + (0..<40).map { "\"key\($0)\":\($0)" }.joined(separator: ",") + "}",
    ]
}

private func isEqual(_ one: JSONValue, _ two: Any) -> Bool {
    switch one.kind {
    case .object:
        guard let two = two as? [String: Any], two.count == one.count else { return false }
        return one.members.allSatisfy { member in two[member.key].map { isEqual(member.value, $0) } ?? false }
    case .array:
        guard let two = two as? [Any], two.count == one.count else { return false }
        return zip(one.elements, two).allSatisfy { isEqual($0, $1) }
    case .string: return one.string == two as? String
    case .number: return one.double == (two as? NSNumber)?.doubleValue
    case .bool: return one.bool == two as? Bool
    case .null: return two is NSNull
    }
}
