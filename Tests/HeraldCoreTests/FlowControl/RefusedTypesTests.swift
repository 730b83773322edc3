import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Event types that a receiver refuses")
struct RefusedTypesTests {
    private func types(_ outcomes: String) -> RefusedTypes {
        var types = RefusedTypes()
        // A capital letter is a success of the type.
        for letter in outcomes {
            if letter.isUppercase {
                types.succeeded(letter.lowercased())
            } else {
                types.failed(String(letter), "status 500", wall: 7)
            }
        }
        return types
    }

    @Test(
        "a type is refused from five failures on that a success of another type interrupts",
        arguments: [
            ("xxxxx", false), ("xxxxxY", false), ("xxxxYx", true), ("xYxxx", false), ("xYxxxx", true),
            ("xYxxxxXx", false), ("Yxxxxxxxxx", false), ("xxxxYxY", true),
        ])
    func refused(outcomes: String, isRefused: Bool) {
        #expect(types(outcomes).contains("x") == isRefused, "\(outcomes)")
        #expect(!types(outcomes).contains("y"))
    }

    @Test("a receiver that accepts nothing any more has accepted one type last, which is not refused")
    func newestSuccess() {
        let types = types("xYxxxxyXyyyyy" + "xxxxxxxx")
        #expect(types.all.map(\.type) == ["y"])
    }

    @Test("the number of types is bounded, and refused ones are kept")
    func bounded() {
        var types = types("xYxxxx")
        for number in 1...1_000 { types.failed("t\(number)", "status 500", wall: 0) }
        #expect(types.contains("x"))
        types.succeeded("z")
        for number in 1...1_000 {
            for _ in 1...5 { types.failed("t\(number)", "status 500", wall: 0) }
        }
        #expect(types.all.count <= RefusedTypes.maxTypes)
    }

    @Test("an entry names the newest reason and the time of the first failure")
    func entry() {
        var types = types("xxxxY")
        types.failed("x", "status 422", wall: 9)
        #expect(types.all.first?.since == 7)
        #expect(types.all.first?.reason == "status 422")
        #expect(types.all.first?.failures == 5)
    }
}
