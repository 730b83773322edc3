import Delegation
import Testing

@Suite("While the delegates of a multicast delegate are called")
struct MutationDuringInvocationTests {
    private let record = Record()
    private let delegates = MulticastDelegate<any Listener>()

    @Test("a delegate may remove itself")
    func removesItself() {
        let scribes = (0..<5).map { Scribe("\($0)", record) { [delegates] in delegates.removeDelegate($0) } }
        for scribe in scribes { delegates.addDelegate(scribe) }
        delegates.invokeDelegates { $0.hear("x") }
        delegates.invokeDelegates { $0.hear("y") }
        #expect(record.lines == (0..<5).map { "\($0) x" })
        withExtendedLifetime(scribes) {}
    }

    @Test("a delegate that is removed before its turn is not called", arguments: [DelegateHolding.weak, .strong])
    func removesAnother(_ holding: DelegateHolding) {
        let last = Scribe("last", record)
        let first = Scribe("first", record) { [delegates] _ in delegates.removeDelegate(last) }
        delegates.addDelegate(first)
        delegates.addDelegate(last, holding: holding)
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["first x"])
    }

    @Test("a delegate that is added strongly and then removed before its turn is not called")
    func upgradesAndRemoves() {
        let last = Scribe("last", record)
        let first = Scribe("first", record) { [delegates] _ in
            delegates.addDelegate(last, holding: .strong)
            delegates.removeDelegate(last)
        }
        delegates.addDelegate(first)
        delegates.addDelegate(last)
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["first x"])
    }

    @Test("no more delegates are called after all were removed")
    func removesAll() {
        let first = Scribe("first", record) { [delegates] _ in delegates.removeAllDelegates() }
        let last = Scribe("last", record)
        delegates.addDelegate(first)
        delegates.addDelegate(last, holding: .strong)
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["first x"])
        withExtendedLifetime(last) {}
    }

    @Test("a delegate that is added is called from the next round on")
    func adds() {
        let late = Scribe("late", record)
        let first = Scribe("first", record) { [delegates] _ in delegates.addDelegate(late) }
        delegates.addDelegate(first)
        delegates.invokeDelegates { $0.hear("x") }
        delegates.invokeDelegates { $0.hear("y") }
        #expect(record.lines == ["first x", "first y", "late y"])
    }

    @Test("a delegate that is released before its turn is skipped")
    func releases() {
        let holder = Box<Scribe?>(Scribe("released", record))
        let first = Scribe("first", record) { _ in holder.value = nil }
        let last = Scribe("last", record)
        delegates.addDelegate(first)
        if let scribe = holder.value { delegates.addDelegate(scribe) }
        delegates.addDelegate(last)
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["first x", "last x"])
        withExtendedLifetime((first, last)) {}
    }

    @Test("delegates may start another call")
    func nested() {
        let depth = Box(0)
        let first = Scribe("first", record) { [delegates] _ in
            depth.value += 1
            if depth.value == 1 { delegates.invokeDelegates { $0.hear("inner") } }
        }
        let last = Scribe("last", record)
        delegates.addDelegate(first)
        delegates.addDelegate(last)
        delegates.invokeDelegates { $0.hear("outer") }
        #expect(record.lines == ["first outer", "first inner", "last inner", "last outer"])
    }

    @Test("a delegate may remove itself when it is released")
    func removesItselfInDeinit() {
        final class Leaver: Listener {
            let delegates: MulticastDelegate<any Listener>
            let companion: Scribe
            init(_ delegates: MulticastDelegate<any Listener>, _ companion: Scribe) {
                self.delegates = delegates
                self.companion = companion
            }
            func hear(_ word: String) {}
            deinit { delegates.removeDelegate(companion) }
        }
        let companion = Scribe("companion", record)
        delegates.addDelegate(companion)
        for holding in [DelegateHolding.strong, .weak] {
            for _ in 0..<100 { delegates.addDelegate(Leaver(delegates, companion), holding: holding) }
            delegates.removeAllDelegates()
        }
        #expect(delegates.count == 0)
    }
}
