import Testing

@testable import Delegation

@Suite("Handlers", .timeLimit(.minutes(5)))
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

    @Test("on the main actor, are called in the order of the events") @MainActor
    func mainActor() async {
        var heard: [String] = []
        let token = words.addHandler(on: MainActor.shared) { heard.append($0) }
        for number in 0..<100 { words.invokeHandlers("\(number)") }
        #expect(heard.isEmpty)
        await withCheckedContinuation { continuation in DelegateQueue.main.enqueue { continuation.resume() } }
        #expect(heard == (0..<100).map(String.init))
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

    @Test("on a queue, are not called for pending events after the token is released")
    func waiting() {
        let jobs = Box<[@Sendable () -> Void]>([])
        let queue = DelegateQueue { job in jobs.update { $0.append(job) } }
        var token: DelegateToken? = words.addHandler(on: queue) { [record] in record.add($0) }
        words.invokeHandlers("x")
        for job in jobs.value { job() }
        words.invokeHandlers("y")
        #expect(token != nil)
        token = nil
        for job in jobs.value.dropFirst() { job() }
        #expect(record.lines == ["x"])
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
}
