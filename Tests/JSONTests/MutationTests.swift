import Foundation
import JSON
import TestSupport
import Testing

/// Random texts from valid ones, the same in each run.
@Suite("Random mutations")
struct MutationTests {
    @Test("never crash the parser, and what it accepts reads the same when written again")
    func mutations() throws {
        var random = SeededRandom(seed: 0x4845_5241_4c44)
        let seeds = MutationTests.seeds.map { Array($0.utf8) }
        var parser = JSONParser(limits: JSONLimits(depth: 16, values: 200, keyBytes: 32))
        var accepted = 0
        for _ in 0..<200_000 {
            var text = seeds[Int(random.next() % UInt64(seeds.count))]
            for _ in 0...(random.next() % 3) { mutate(&text, &random) }
            guard let root = try? parser.parse(text) else { continue }
            accepted += 1
            var copy = JSONWriter(capacity: text.count)
            copy.value(Rewritten(value: root))
            let again = try JSONDocument(parsing: copy.bytes).root
            if !isEqual(root, again) { Issue.record("\(String(decoding: text, as: UTF8.self))") }
        }
        #expect(accepted > 1000)
    }

    @Test("valid documents mean what Foundation reads in them", arguments: seeds)
    func foundation(_ text: String) throws {
        let theirs = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        #expect(isEqual(try JSONDocument(parsing: text).root, theirs))
    }

    static let seeds = [
        #"{"type":"order.created","id":"evt_1","time":"2026-11-21T10:00:00.000Z","data":{"total":129.9,"paid":true}}"#,
        #"[1,-2,0.5,1e10,-1.5E-3,[],{},[[]],null,true,false,"",9007199254740993]"#,
        #"{"a":{"b":{"c":[{"d":"e"},{"d":"f"}]}},"\u0061\n":"\ud83d\ude00 \\ \" \/ \b\f\n\r\t","é":"日本語😀"}"#,
        "  [ 1 , 2\t,\r\n 3 ]  ", #""\u00e9\u20ac\uffff""#, "-0.0", #"{"":[{"":{"":[]}}]}"#,
        "{" + (0..<40).map { "\"key\($0)\":\($0)" }.joined(separator: ",") + "}",
    ]

    private func mutate(_ text: inout [UInt8], _ random: inout SeededRandom) {
        let interesting =
            Array(#"{}[]:,"\u0dDeE+-.019tfn "#.utf8) + [0, 0x1f, 0x7f, 0x80, 0xc3, 0xe2, 0xed, 0xf0, 0xff]
        let at = text.isEmpty ? 0 : Int(random.next() % UInt64(text.count))
        let byte = interesting[Int(random.next() % UInt64(interesting.count))]
        switch random.next() % 5 {
        case 0: text.insert(byte, at: at)
        case 1 where !text.isEmpty: text[at] = byte
        case 2 where !text.isEmpty: text.remove(at: at)
        case 3: text.removeSubrange(at...)
        default:
            let end = min(text.count, at + Int(random.next() % 12))
            text.insert(contentsOf: text[at..<end], at: at)
        }
    }
}

/// Writes a parsed value anew, member by member.
private struct Rewritten: JSONWritable {
    let value: JSONValue

    func write(to json: inout JSONWriter) {
        switch value.kind {
        case .object: json.object { for (key, value) in value.members { $0.member(key, Rewritten(value: value)) } }
        case .array: json.array { for value in value.elements { $0.element(Rewritten(value: value)) } }
        case .string: json.value(value.string)
        case .number: json.value(.raw(value.bytes))
        case .bool: json.value(value.bool)
        case .null: json.null()
        }
    }
}

private func isEqual(_ one: JSONValue, _ two: JSONValue) -> Bool {
    guard one.kind == two.kind, one.count == two.count else { return false }
    switch one.kind {
    case .object: return zip(one.members, two.members).allSatisfy { $0.key == $1.key && isEqual($0.value, $1.value) }
    case .array: return zip(one.elements, two.elements).allSatisfy(isEqual)
    case .string: return one.string == two.string
    case .number: return one.bytes == two.bytes
    case .bool, .null: return one.bool == two.bool
    }
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
