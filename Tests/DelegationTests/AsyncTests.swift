import Testing

@testable import Delegation

/// A delegate that is an actor: its methods are asynchronous to everyone else.
private protocol Patient: Actor {
    func hear(_ word: String) async
}

private actor Reader: Patient {
    let name: String
    let record: Record
    let pause: @Sendable () async -> Void

    init(_ name: String, _ record: Record, pause: @escaping @Sendable () async -> Void = {}) {
        self.name = name
        self.record = record
        self.pause = pause
    }

    func hear(_ word: String) async {
        record.add("\(name) begins \(word)")
        await pause()
        record.add("\(name) ends \(word)")
    }
}

/// Lets its visitors through when all have come.
private actor MeetingPoint {
    private var missing: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(of count: Int) { missing = count }

    func meet() async {
        missing -= 1
        if missing > 0 { return await withCheckedContinuation { waiting.append($0) } }
        for continuation in waiting { continuation.resume() }
    }
}

@Suite("Asynchronous delegates", .timeLimit(.minutes(20)))
struct AsyncTests {
    private let record = Record()
    private let delegates = MulticastDelegate<any Patient>()

    @Test("in order, each delegate finishes before the next one starts")
    func inOrder() async {
        let readers = ["a", "b", "c"].map { Reader($0, record) { await Task.yield() } }
        for reader in readers { delegates.addDelegate(reader) }
        await delegates.invokeDelegatesInOrder { await $0.hear("x") }
        #expect(
            record.lines == ["a begins x", "a ends x", "b begins x", "b ends x", "c begins x", "c ends x"])
        withExtendedLifetime(readers) {}
    }

    @Test("when called concurrently, they can wait for each other")
    func concurrently() async {
        let point = MeetingPoint(of: 3)
        let readers = ["a", "b", "c"].map { Reader($0, record) { await point.meet() } }
        for reader in readers { delegates.addDelegate(reader) }
        await delegates.invokeDelegatesConcurrently { await $0.hear("x") }
        #expect(record.lines.count == 6)
        #expect(record.lines.prefix(3).allSatisfy { $0.contains("begins") })
        withExtendedLifetime(readers) {}
    }

    @Test("a delegate that is released or removed before its turn is not called")
    func leaving() async {
        let delegates = delegates
        let holder = Box<Reader?>(Reader("released", record))
        let removed = Reader("removed", record)
        let first = Reader("first", record) {
            holder.value = nil
            delegates.removeDelegate(removed)
        }
        delegates.addDelegate(first)
        if let reader = holder.value { delegates.addDelegate(reader) }
        delegates.addDelegate(removed)
        await delegates.invokeDelegatesInOrder { await $0.hear("x") }
        #expect(record.lines == ["first begins x", "first ends x"])
        #expect(delegates.count == 1)
    }

    @Test("the closure runs where its caller is isolated") @MainActor
    func isolation() async {
        let reader = Reader("a", record)
        delegates.addDelegate(reader)
        var heard = 0
        await delegates.invokeDelegatesInOrder { reader in
            await reader.hear("x")
            MainActor.assertIsolated()
            heard += 1
        }
        #expect(heard == 1)
        withExtendedLifetime(reader) {}
    }
}
