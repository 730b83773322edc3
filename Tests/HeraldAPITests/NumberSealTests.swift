import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldAPI

@Suite("Sealed numbers")
struct NumberSealTests {
    private let seal = NumberSeal(ServerSecret(bytes: Array(0..<32)))
    private let other = AppKey(rawValue: 2)

    @Test("a number can be decoded for its app and kind only")
    func back() {
        for number in [0, 1, 255, 256, 1 << 20, (1 << 48) - 1] as [Int64] {
            for open in [0, 1_760_000_000_123, (1 << 48) - 1] as [Int64] {
                let text = seal.text(number, .event, of: .default, open: open)
                #expect(text.utf8.count == 26)
                #expect(seal.number(text, .event, of: .default) == number)
                #expect(seal.number(text, .event, of: other) == nil)
                #expect(seal.number(text, .attempt, of: .default) == nil)
                #expect(NumberSeal(ServerSecret()).number(text, .event, of: .default) == nil)
            }
        }
    }

    @Test("the same number and secret give the same text at any time")
    func stable() {
        #expect(
            NumberSeal(ServerSecret(bytes: Array(0..<32))).text(7, .event, of: .default)
                == seal.text(7, .event, of: .default))
    }

    @Test("adjacent numbers have nothing in common, and a position has another text each time")
    func unlike() {
        let texts = (0..<1_000).map { seal.text($0, .event, of: .default) }
        #expect(Set(texts).count == 1_000)
        // Eight digits are open and zero, two hold bits of both; of the others one in 32 is the same by chance.
        let same = zip(texts, texts.dropFirst()).map { zip($0.suffix(16), $1.suffix(16)).count { $0 == $1 } }.reduce(
            0, +)
        #expect((300..<700).contains(same))
        #expect(Set((0..<100).map { _ in seal.place(5, .event, of: .default) }).count == 100)
    }

    @Test("with one changed character, the text is invalid")
    func forged() {
        let text = seal.text(123, .event, of: .default, open: 99)
        for index in text.indices {
            for digit in "0123456789ABCDEFGHJKMNPQRSTVWXYZ" where digit != text[index] {
                var forged = text
                forged.replaceSubrange(index...index, with: [digit])
                #expect(seal.number(forged, .event, of: .default) == nil)
            }
        }
        for text in ["", "1", text.lowercased(), text + "0", "8" + text.dropFirst(), String(text.dropLast()) + "U"] {
            #expect(seal.number(text, .event, of: .default) == nil)
        }
    }

    @Test("ids of attempts sort by the time of their start")
    func attempts() {
        let ids = (0..<50 as Range<Int64>).map { number in
            let record = attempt(1, 1, startedAt: 1_760_000_000_000 + number)
            return seal.id(of: StoredAttempt(id: 50 - number, record: record), app: .default)
        }
        #expect(ids == ids.sorted() && ids.allSatisfy { $0.hasPrefix("att_") && $0.utf8.count == 30 })
        #expect(ids.map { seal.attempt($0, app: .default) } == (0..<50).map { 50 - $0 })
        #expect(ids.allSatisfy { seal.attempt($0, app: other) == nil && seal.attempt("@" + $0, app: .default) == nil })
    }
}
