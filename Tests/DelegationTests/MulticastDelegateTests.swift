import Foundation
import Testing

@testable import Delegation

@Suite("A multicast delegate")
struct MulticastDelegateTests {
    private let record = Record()
    private let delegates = MulticastDelegate<any Listener>()

    @Test("calls its delegates in the order of registration")
    func order() {
        let scribes = (0..<100).map { Scribe("\($0)", record) }
        for scribe in scribes { #expect(delegates.addDelegate(scribe)) }
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == (0..<100).map { "\($0) x" })
        #expect(delegates.count == 100)
        #expect(delegates.delegates.map(ObjectIdentifier.init) == scribes.map(ObjectIdentifier.init))
        withExtendedLifetime(scribes) {}
    }

    @Test("starts with the given delegates, or with none")
    func initialisers() {
        let one = Scribe("one", record)
        let two = Scribe("two", record)
        let delegates = MulticastDelegate<any Listener>(delegates: [one, two, one])
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["one x", "two x"])
        #expect(MulticastDelegate<any Listener>().count == 0)
        MulticastDelegate<any Listener>().invokeDelegates { $0.hear("nobody") }
        #expect(record.lines.count == 2)
    }

    @Test("calls a delegate that was registered twice once")
    func duplicates() {
        let scribe = Scribe("a", record)
        #expect(delegates.addDelegate(scribe))
        #expect(!delegates.addDelegate(scribe))
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["a x"])
        #expect(delegates.count == 1)
    }

    @Test("keeps a weakly held delegate alive, in its place, once it was added strongly")
    func upgrade() {
        var scribe: Scribe? = Scribe("a", record)
        let last = Scribe("last", record)
        weak let observed = scribe
        if let scribe { #expect(delegates.addDelegate(scribe)) }
        delegates.addDelegate(last)
        if let scribe { #expect(!delegates.addDelegate(scribe, holding: .strong)) }
        if let scribe { #expect(!delegates.addDelegate(scribe)) }
        scribe = nil
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["a x", "last x"])
        if let observed { #expect(delegates.removeDelegate(observed)) }
        #expect(observed == nil)
        #expect(delegates.count == 1)
    }

    @Test("collects the results of the delegates, and stops at the first `false`")
    func results() {
        let scribes = ["a", "b", "c"].map { Scribe($0, record) }
        for scribe in scribes { delegates.addDelegate(scribe) }
        #expect(delegates.results { $0 === scribes[1] } == [false, true, false])
        #expect(delegates.allSatisfy { $0 !== record })
        #expect(
            !delegates.allSatisfy {
                $0.hear("x")
                return $0 !== scribes[1]
            })
        #expect(record.lines == ["a x", "b x"])
        #expect(MulticastDelegate<any Listener>().allSatisfy { _ in false })
    }

    @Test("finds and removes each of many delegates, in any order")
    func many() {
        let scribes = (0..<5000).map { Scribe("\($0)", record) }
        for scribe in scribes { delegates.addDelegate(scribe) }
        for (number, scribe) in scribes.enumerated() where number % 3 != 0 {
            #expect(delegates.removeDelegate(scribe))
            #expect(!delegates.contains(scribe))
        }
        let left = scribes.enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
        #expect(delegates.delegates.map(ObjectIdentifier.init) == left.map(ObjectIdentifier.init))
        for scribe in left.shuffled() { #expect(delegates.removeDelegate(scribe)) }
        #expect(delegates.count == 0)
        #expect(delegates.membership.members.count <= 16)
    }

    @Test("does not call a delegate that was removed")
    func removal() {
        let one = Scribe("one", record)
        let two = Scribe("two", record)
        delegates.addDelegate(one)
        delegates.addDelegate(two, holding: .strong)
        #expect(delegates.contains(one))
        #expect(delegates.removeDelegate(one))
        #expect(!delegates.removeDelegate(one))
        #expect(!delegates.contains(one))
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["two x"])
        #expect(delegates.addDelegate(one))
        delegates.removeAllDelegates()
        delegates.invokeDelegates { $0.hear("y") }
        #expect(record.lines == ["two x"])
        #expect(delegates.delegates.isEmpty)
    }

    @Test("does not keep a weakly held delegate alive")
    func weakHolding() {
        var scribe: Scribe? = Scribe("a", record)
        weak let observed = scribe
        if let scribe { delegates.addDelegate(scribe) }
        delegates.invokeDelegates { $0.hear("x") }
        scribe = nil
        #expect(observed == nil)
        #expect(delegates.count == 0)
        delegates.invokeDelegates { $0.hear("y") }
        #expect(record.lines == ["a x"])
    }

    @Test("keeps a strongly held delegate alive until it is removed")
    func strongHolding() {
        weak var observed: Scribe?
        do {
            let scribe = Scribe("a", record)
            observed = scribe
            delegates.addDelegate(scribe, holding: .strong)
        }
        #expect(observed != nil)
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["a x"])
        if let observed { delegates.removeDelegate(observed) }
        #expect(observed == nil)
    }

    #if os(Linux)
        @Test("keeps the memory of a weakly held delegate until its entry is removed, and no longer")
        func weakMemory() {
            let scribe = Scribe("a", record)
            let before = _getUnownedRetainCount(scribe)
            delegates.addDelegate(scribe)
            #expect(_getUnownedRetainCount(scribe) == before + 1)
            delegates.removeDelegate(scribe)
            #expect(_getUnownedRetainCount(scribe) == before)
            do {
                let others = MulticastDelegate<any Listener>()
                others.addDelegate(scribe)
                #expect(_getUnownedRetainCount(scribe) == before + 1)
            }
            #expect(_getUnownedRetainCount(scribe) == before)
        }
    #endif

    @Test("releases what it holds when it is released")
    func release() {
        weak var observed: Scribe?
        do {
            let scribe = Scribe("a", record)
            observed = scribe
            let delegates = MulticastDelegate<any Listener>()
            delegates.addDelegate(scribe, holding: .strong)
        }
        #expect(observed == nil)
    }

    @Test("distinguishes a new delegate from a released one at the same address")
    func recycledMemory() {
        for round in 0..<1000 {
            let scribe = Scribe("\(round)", record)
            #expect(delegates.addDelegate(scribe))
            #expect(delegates.count == 1)
            #expect(delegates.contains(scribe))
        }
        for round in 0..<1000 {
            delegates.addDelegate(Scribe("gone", record))
            let stranger = Scribe("\(round)", record)
            #expect(!delegates.contains(stranger))
            #expect(!delegates.removeDelegate(stranger))
        }
    }

    @Test("works for existentials that aren't bound to classes, compositions and classes")
    func delegateTypes() {
        let scribe = Scribe("a", record)
        let anything = MulticastDelegate<Any>(delegates: [scribe])
        anything.invokeDelegates { ($0 as? Scribe)?.hear("1") }
        let composed = MulticastDelegate<any Listener & Sendable & CustomStringConvertible>()
        composed.invokeDelegates { $0.hear("never") }
        let concrete = MulticastDelegate<Scribe>()
        concrete.addDelegate(scribe, holding: .strong)
        concrete.invokeDelegates { $0.hear("2") }
        let objects = MulticastDelegate<AnyObject>(delegates: [scribe, record] as [AnyObject])
        objects.invokeDelegates { ($0 as? Scribe)?.hear("3") }
        #expect(objects.count == 2)
        #expect(record.lines == ["a 1", "a 2", "a 3"])
    }

    @Test("stops the program when a delegate is not an object")
    func valueTypes() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            MulticastDelegate<any CustomStringConvertible>().addDelegate("a value")
        }
        #if DEBUG  // Optimized programs stop without a message.
            let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(message.contains("A delegate must be an instance of a class"))
            #expect(message.contains("String is not a class"))
        #endif
    }

    @Test("supports += and -= for adding and removing")
    func operators() {
        let scribe = Scribe("a", record)
        delegates += scribe
        delegates.invokeDelegates { $0.hear("x") }
        delegates -= scribe
        delegates.invokeDelegates { $0.hear("y") }
        #expect(record.lines == ["a x"])
    }

    @Test("calls on the thread of the caller, before it returns, in the same stack")
    func synchronous() async throws {
        let delegates = delegates
        let record = record
        try await onThread {
            let thread = ObjectIdentifier(Thread.current)
            let frame = StackPosition()
            let scribe = Scribe("a", record) { _ in
                #expect(ObjectIdentifier(Thread.current) == thread)
                #expect(StackPosition() < frame)
            }
            delegates.addDelegate(scribe)
            delegates.invokeDelegates { $0.hear("x") }
            #expect(record.lines == ["a x"])
        }
    }

    @Test("removes the slots of released delegates, when a call finds them and when there are many")
    func sweeping() {
        /// Adds some that live together, so that each has memory of its own, and releases them.
        func addAndRelease(_ count: Int) {
            let scribes = (0..<count).map { _ in Scribe("gone", record) }
            for scribe in scribes { delegates.addDelegate(scribe) }
        }
        addAndRelease(10)
        #expect(delegates.membership.members.count == 10)
        delegates.invokeDelegates { $0.hear("x") }
        #expect(delegates.membership.members.allSatisfy { $0 == nil })
        // Some of the new ones get the memory of released ones, others don't.
        var kept: [Scribe] = []
        for round in 0..<1000 {
            addAndRelease(10)
            if round % 2 == 0 { kept = [Scribe("elsewhere", record)] }
            #expect(delegates.membership.members.count <= 48)
        }
        withExtendedLifetime(kept) {}
        #expect(record.lines.isEmpty)
    }
}
