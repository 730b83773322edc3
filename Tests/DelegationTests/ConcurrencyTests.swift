import Delegation
import Synchronization
import Testing

private protocol Counting: AnyObject, Sendable {
    func count()
}

private final class Counter: Counting {
    let value = Atomic(0)
    func count() { value.add(1, ordering: .relaxed) }
}

@Suite("A multicast delegate shared by threads")
struct ConcurrencyTests {
    @Test("eight tasks add, remove, release and invoke at once, and every remaining delegate is called by all")
    func everythingAtOnce() async {
        let delegates = MulticastDelegate<any Counting>()
        let permanent = Counter()
        delegates.addDelegate(permanent)
        let rounds = 500
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<rounds {
                        let counter = Counter()
                        delegates.addDelegate(counter, holding: (task + round) % 3 == 0 ? .strong : .weak)
                        delegates.invokeDelegates { $0.count() }
                        #expect(delegates.contains(counter))
                        // Some are removed, the weak ones among the others released.
                        if (task + round) % 3 == 0 || round % 2 == 0 { #expect(delegates.removeDelegate(counter)) }
                        // Each was told by its own task at least.
                        #expect(counter.value.load(ordering: .relaxed) > 0)
                    }
                }
            }
        }
        #expect(permanent.value.load(ordering: .relaxed) == 8 * rounds)
        #expect(delegates.count == 1)
        #expect(delegates.delegates.first === permanent)
    }

    @Test("a delegate that several threads add at once is added once")
    func oneWins() async {
        for _ in 0..<100 {
            let delegates = MulticastDelegate<any Counting>()
            let counter = Counter()
            let winners = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 { group.addTask { delegates.addDelegate(counter) } }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(winners == 1)
            #expect(delegates.count == 1)
        }
    }
}
