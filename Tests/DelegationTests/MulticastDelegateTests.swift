import Delegation
import Synchronization
import Testing

private protocol Listener: AnyObject, Sendable {
    func hear(_ word: String)
}

/// Writes down what it hears, in a record that several can share, and then does something.
private final class Scribe: Listener {
    let name: String
    let record: Record
    let reaction: @Sendable (Scribe) -> Void

    init(_ name: String, _ record: Record, reaction: @escaping @Sendable (Scribe) -> Void = { _ in }) {
        self.name = name
        self.record = record
        self.reaction = reaction
    }

    func hear(_ word: String) {
        record.add("\(name) \(word)")
        reaction(self)
    }
}

private final class Record: Sendable {
    private let storage = Mutex<[String]>([])
    var lines: [String] { storage.withLock { $0 } }
    func add(_ line: String) { storage.withLock { $0.append(line) } }
}

private final class Box<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>
    init(_ value: Value) { storage = Mutex(value) }
    var value: Value {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }
}

@Suite("A multicast delegate")
struct MulticastDelegateTests {
    private let record = Record()
    private let delegates = MulticastDelegate<any Listener>()

    @Test("tells its delegates in the order of registration")
    func order() {
        let scribes = (0..<100).map { Scribe("\($0)", record) }
        for scribe in scribes { #expect(delegates.addDelegate(scribe)) }
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == (0..<100).map { "\($0) x" })
        #expect(delegates.count == 100)
        #expect(delegates.delegates.map(ObjectIdentifier.init) == scribes.map(ObjectIdentifier.init))
        withExtendedLifetime(scribes) {}
    }

    @Test("begins with the delegates it is given, and with none")
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

    @Test("tells a delegate that was registered twice once")
    func duplicates() {
        let scribe = Scribe("a", record)
        #expect(delegates.addDelegate(scribe))
        #expect(!delegates.addDelegate(scribe))
        #expect(!delegates.addDelegate(scribe, holding: .strong))
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["a x"])
        #expect(delegates.count == 1)
    }

    @Test("no longer tells a delegate that was removed")
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

    @Test("doesn't keep a weakly held delegate alive")
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

    @Test("lets go of what it holds when it is released itself")
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

    @Test("takes a new delegate in the memory of a released one for a new one")
    func recycledMemory() {
        for round in 0..<1000 {
            let scribe = Scribe("\(round)", record)
            #expect(delegates.addDelegate(scribe))
            #expect(delegates.count == 1)
            #expect(delegates.contains(scribe))
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

    @Test("stops the program when a delegate isn't an object")
    func valueTypes() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            MulticastDelegate<any CustomStringConvertible>().addDelegate("a value")
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("A delegate must be an instance of a class"))
        #expect(message.contains("String is not a class"))
    }

    @Test("ends the round with the first error")
    func errors() {
        struct Refusal: Error {}
        let scribes = ["a", "b", "c"].map { Scribe($0, record) }
        for scribe in scribes { delegates.addDelegate(scribe) }
        #expect(throws: Refusal.self) {
            try delegates.invokeDelegates { (listener) throws(Refusal) in
                if listener === scribes[1] { throw Refusal() }
                listener.hear("x")
            }
        }
        #expect(record.lines == ["a x"])
    }
}

@Suite("While the delegates of a multicast delegate are told")
struct MutationDuringInvocationTests {
    private let record = Record()
    private let delegates = MulticastDelegate<any Listener>()

    @Test("one may remove itself")
    func removesItself() {
        let scribes = (0..<5).map { Scribe("\($0)", record) { [delegates] in delegates.removeDelegate($0) } }
        for scribe in scribes { delegates.addDelegate(scribe) }
        delegates.invokeDelegates { $0.hear("x") }
        delegates.invokeDelegates { $0.hear("y") }
        #expect(record.lines == (0..<5).map { "\($0) x" })
    }

    @Test("one that is removed before its turn is not told", arguments: [DelegateHolding.weak, .strong])
    func removesAnother(_ holding: DelegateHolding) {
        let last = Scribe("last", record)
        let first = Scribe("first", record) { [delegates] _ in delegates.removeDelegate(last) }
        delegates.addDelegate(first)
        delegates.addDelegate(last, holding: holding)
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["first x"])
    }

    @Test("nobody is told any more when all are removed")
    func removesAll() {
        let first = Scribe("first", record) { [delegates] _ in delegates.removeAllDelegates() }
        let last = Scribe("last", record)
        delegates.addDelegate(first)
        delegates.addDelegate(last, holding: .strong)
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["first x"])
        withExtendedLifetime(last) {}
    }

    @Test("one that joins hears from the next round on")
    func adds() {
        let late = Scribe("late", record)
        let first = Scribe("first", record) { [delegates] _ in delegates.addDelegate(late) }
        delegates.addDelegate(first)
        delegates.invokeDelegates { $0.hear("x") }
        delegates.invokeDelegates { $0.hear("y") }
        #expect(record.lines == ["first x", "first y", "late y"])
    }

    @Test("one that is released before its turn is skipped")
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

    @Test("the delegates may be told something else")
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
