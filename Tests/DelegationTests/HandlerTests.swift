import Testing

@testable import Delegation

@Suite("Handlers", .timeLimit(.minutes(20)))
struct HandlerTests {
    private let record = Record()
    private let words = MulticastDelegate<Handler<String>>()

    @Test("are called in the order of registration until their token is released")
    func tokens() {
        let first = words.addHandler { [record] in record.add("first \($0)") }
        var second: DelegateToken? = words.addHandler { [record] in record.add("second \($0)") }
        words.invokeHandlers("x")
        #expect(second != nil)
        second = nil
        words.invokeHandlers("y")
        first.cancel()
        first.cancel()
        words.invokeHandlers("z")
        #expect(record.lines == ["first x", "second x", "first y"])
        #expect(words.count == 0)
    }

    @Test("are released with their token, and with the collection")
    func lifetime() {
        weak var observed: Record?
        var words: MulticastDelegate<Handler<String>>? = MulticastDelegate()
        var token: DelegateToken?
        do {
            let captured = Record()
            observed = captured
            token = words?.addHandler { captured.add($0) }
        }
        #expect(observed != nil)
        token = nil
        #expect(observed == nil)
        token = words?.addHandler { _ in }
        weak let collection = words
        words = nil
        #expect(collection == nil)  // The token doesn't keep it alive.
        token?.cancel()
    }

    @Test("a handler may end its own registration while it is called, and that of another handler")
    func reentrant() {
        let tokens = Box<[DelegateToken]>([])
        for name in ["a", "b", "c"] {
            let token = words.addHandler { [record] in
                record.add("\(name) \($0)")
                tokens.value = []
            }
            tokens.update { $0.append(token) }
        }
        words.invokeHandlers("x")
        words.invokeHandlers("y")
        #expect(record.lines == ["a x"])
    }

    @Test("on the main actor, are called in the order of the events, at once on its thread") @MainActor
    func mainActor() async {
        var heard: [String] = []
        let token = words.addHandler(on: .main) { heard.append($0) }
        for number in 0..<100 { words.invokeHandlers("\(number)") }
        #expect(heard == (0..<100).map(String.init))
        let words = words
        await Task.detached { for number in 100..<200 { words.invokeHandlers("\(number)") } }.value
        while heard.count < 200 { await Task.yield() }
        #expect(heard == (0..<200).map(String.init))
        withExtendedLifetime(token) {}
    }

    @Test("on an actor, isolated to it")
    func actors() async {
        actor Diary {
            var words: [String] = []
            var count: Int { words.count }
        }
        let diary = Diary()
        let token = words.addHandler(on: diary) { diary, word in diary.words.append(word) }
        for number in 0..<100 { words.invokeHandlers("\(number)") }
        while await diary.count < 100 { await Task.yield() }
        #expect(await diary.words == (0..<100).map(String.init))
        withExtendedLifetime(token) {}
    }

    @Test("on an actor, are not called for pending events after the token is released") @MainActor
    func waiting() async {
        var token: DelegateToken? = words.addHandler(on: .main) { [record] in record.add($0) }
        words.invokeHandlers("x")
        // The main actor is busy here, so that this waits.
        let words = words
        blockUntilDone { words.invokeHandlers("y") }
        #expect(token != nil)
        token = nil
        await Task.yield()
        #expect(record.lines == ["x"])
    }

    @Test("tokens can be kept in a set")
    func sets() {
        var tokens: Set = [words.addHandler { [record] in record.add("a \($0)") }]
        tokens.insert(words.addHandler { [record] in record.add("b \($0)") })
        words.invokeHandlers("x")
        tokens.removeAll()
        words.invokeHandlers("y")
        #expect(record.lines == ["a x", "b x"])
    }

    @Test("events can be taken from a sequence, which ends with the collection")
    func sequence() async {
        var words: MulticastDelegate<Handler<String>>? = MulticastDelegate()
        let all = words?.events()
        let latest = words?.events(buffering: .bufferingNewest(1))
        for word in ["x", "y", "z"] { words?.invokeHandlers(word) }
        words = nil
        var heard: [String] = []
        if let all { for await word in all { heard.append(word) } }
        #expect(heard == ["x", "y", "z"])
        heard = []
        if let latest { for await word in latest { heard.append(word) } }
        #expect(heard == ["z"])
    }

    @Test("a sequence without a reader leaves the collection")
    func cancelledSequence() async {
        do {
            let events = words.events()
            #expect(words.count == 1)
            withExtendedLifetime(events) {}
        }
        #expect(words.count == 0)
        let words = words
        let task = Task {
            var heard: [String] = []
            for await word in words.events() { heard.append(word) }
            return heard
        }
        while words.count == 0 { await Task.yield() }
        words.invokeHandlers("x")
        task.cancel()
        _ = await task.value
        #expect(words.count == 0)
    }

    @Test("a delegate can be registered with a token too")
    func delegates() throws {
        let delegates = MulticastDelegate<any Listener>()
        weak var observed: Scribe?
        var token: DelegateToken?
        do {
            let scribe = Scribe("a", record)
            observed = scribe
            token = delegates.register(scribe)
            #expect(delegates.register(scribe) == nil)
        }
        delegates.invokeDelegates { $0.hear("x") }
        #expect(token != nil && observed != nil)
        token = nil
        #expect(observed == nil)
        delegates.invokeDelegates { $0.hear("y") }
        #expect(record.lines == ["a x"])
    }

    @Test("a delegate that is held weakly gets no token, and is not kept alive")
    func weakDelegates() {
        let delegates = MulticastDelegate<any Listener>()
        weak var observed: Scribe?
        do {
            let scribe = Scribe("a", record)
            observed = scribe
            delegates.addDelegate(scribe)
            #expect(delegates.register(scribe) == nil)
        }
        #expect(observed == nil && delegates.count == 0)
    }
}
