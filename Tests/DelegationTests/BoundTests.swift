import Dispatch
import Testing

@testable import Delegation

/// An actor whose state is touched by what it is told.
private actor Diary: Listener {
    private(set) var words: [String] = []
    nonisolated func hear(_ word: String) { assumeIsolated { $0.words.append(word) } }
}

extension DelegateQueue {
    /// Returns when all that was there before has been called.
    fileprivate func drain() async {
        await withCheckedContinuation { continuation in enqueue { continuation.resume() } }
    }
}

@Suite("Delegates bound to an actor or a queue", .timeLimit(.minutes(5)))
struct BoundTests {
    private let record = Record()
    private let delegates = BoundMulticastDelegate<any Listener>()

    @Test("an actor is called in its isolation, in the order of the calls, and is not kept alive")
    func actors() async {
        weak var observed: Diary?
        do {
            let diary = Diary()
            observed = diary
            let queue = DelegateQueue.actor(diary)
            #expect(delegates.addDelegate(diary, on: queue))
            for number in 0..<1000 { delegates.invokeDelegates { $0.hear("\(number)") } }
            await queue.drain()
            #expect(await diary.words == (0..<1000).map(String.init))
        }
        await Self.untilNil { observed }
        #expect(delegates.count == 0)
    }

    @Test("a delegate of the main actor is called there")
    func mainActor() async {
        let scribe = Scribe("a", record) { _ in MainActor.assertIsolated() }
        delegates.addDelegate(scribe, on: .main)
        delegates.invokeDelegates { $0.hear("x") }
        await DelegateQueue.main.drain()
        #expect(record.lines == ["a x"])
    }

    @Test("a delegate of a dispatch queue is called there, in order even if the queue is concurrent")
    func dispatchQueues() async {
        let serial = DispatchQueue(label: "serial")
        let scribe = Scribe("a", record) { _ in dispatchPrecondition(condition: .onQueue(serial)) }
        let queue = DelegateQueue { serial.async(execute: $0) }
        let concurrent = DelegateQueue { DispatchQueue.global().async(execute: $0) }
        let other = Record()
        let second = Scribe("b", other)
        delegates.addDelegate(scribe, on: queue)
        delegates.addDelegate(second, on: concurrent)
        for number in 0..<1000 { delegates.invokeDelegates { $0.hear("\(number)") } }
        await queue.drain()
        await concurrent.drain()
        #expect(record.lines == (0..<1000).map { "a \($0)" })
        #expect(other.lines == (0..<1000).map { "b \($0)" })
    }

    @Test("pending calls of a removed or released delegate are dropped")
    func leaving() {
        let jobs = Box<[@Sendable () -> Void]>([])
        let queue = DelegateQueue { job in jobs.update { $0.append(job) } }
        let removed = Scribe("removed", record)
        let stays = Scribe("stays", record)
        var released: Scribe? = Scribe("released", record)
        delegates.addDelegate(removed, on: queue)
        delegates.addDelegate(stays, on: queue)
        if let released { delegates.addDelegate(released, on: queue, holding: .weak) }
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines.isEmpty)
        #expect(delegates.removeDelegate(removed))
        released = nil
        while !jobs.value.isEmpty {
            let waiting = jobs.value
            jobs.value = []
            for job in waiting { job() }
        }
        #expect(record.lines == ["stays x"])
        #expect(!delegates.contains(removed) && delegates.contains(stays) && delegates.count == 1)
        delegates.removeAllDelegates()
        #expect(delegates.count == 0)
    }

    @Test("a delegate that is added twice is called once, where it was bound first")
    func duplicates() async {
        let scribe = Scribe("a", record) { _ in MainActor.assertIsolated() }
        #expect(delegates.addDelegate(scribe, on: .main, holding: .strong))
        #expect(!delegates.addDelegate(scribe, on: .actor(Diary())))
        delegates.invokeDelegates { $0.hear("x") }
        await DelegateQueue.main.drain()
        #expect(record.lines == ["a x"])
    }

    @Test("pending calls end when their actor is released")
    func goneActor() {
        let queue = DelegateQueue.actor(Diary())
        let scribe = Scribe("a", record)
        delegates.addDelegate(scribe, on: queue)
        for _ in 0..<10 { delegates.invokeDelegates { $0.hear("x") } }
        #expect(record.lines.isEmpty)
    }

    /// The task that told the actor may hold it for a moment longer.
    private static func untilNil(_ object: () -> AnyObject?) async {
        while object() != nil { await Task.yield() }
    }
}
