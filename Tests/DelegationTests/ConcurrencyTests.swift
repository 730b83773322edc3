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

/// Counts in another object, as long as it is whole.
private final class ShortLived: Counting {
    let called: Counter
    let released: Counter
    init(_ called: Counter, _ released: Counter) { (self.called, self.released) = (called, released) }
    deinit { released.count() }
    func count() { called.count() }
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

    @Test("a delegate that one thread releases while others call it is called as a whole or not at all")
    func releaseDuringCalls() async {
        let delegates = MulticastDelegate<any Counting>()
        let (called, released, callers) = (Counter(), Counter(), Counter())
        let rounds = 10_000
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    callers.count()
                    while released.value.load(ordering: .relaxed) < rounds { delegates.invokeDelegates { $0.count() } }
                }
            }
            // In no task of its own: the callers never suspend, and may have all threads of the pool but this one.
            for _ in 0..<rounds {
                let delegate = ShortLived(called, released)
                delegates.addDelegate(delegate)
                // A reference beside the object's own count of references.
                weak let observed = delegate
                #expect(observed != nil)
            }
        }
        #expect(callers.value.load(ordering: .relaxed) == 2)
        #expect(released.value.load(ordering: .relaxed) == rounds)
        #expect(delegates.count == 0)
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
