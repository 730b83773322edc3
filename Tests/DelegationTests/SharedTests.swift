import Testing

@testable import Delegation

/// Not `Sendable`: it belongs to the actor that adds it.
private protocol Hearing: AnyObject {
    func hear(_ word: String)
}

/// A protocol of the main actor, as all are whose module has the main actor as default isolation.
@MainActor private protocol Drawing: AnyObject {
    func draw(_ number: Int)
}

private final class Canvas: Drawing {
    private(set) var numbers: [Int] = []
    func draw(_ number: Int) { numbers.append(number) }
}

@MainActor
private final class Screen: @MainActor Hearing {
    private(set) var words: [String] = []
    var reaction: (Screen) -> Void = { _ in }
    func hear(_ word: String) {
        MainActor.assertIsolated()
        words.append(word)
        reaction(self)
    }
}

/// Keeps delegates that aren't `Sendable` for itself.
private actor Library {
    final class Reader: Hearing {
        var words: [String] = []
        func hear(_ word: String) { words.append(word) }
    }

    private let reader = Reader()
    var words: [String] { reader.words }

    func join(_ delegates: SharedMulticastDelegate<any Hearing>) { delegates.addDelegate(reader) }
    func leave(_ delegates: SharedMulticastDelegate<any Hearing>) -> Int {
        delegates.removeDelegate(reader)
        return reader.words.count
    }
}

@Suite("Delegates on different actors", .timeLimit(.minutes(20)))
struct SharedTests {
    private let record = Record()
    private let delegates = SharedMulticastDelegate<any Hearing>()

    @Test("on the main actor are called before the call returns, if that is made on its thread") @MainActor
    func mainThread() {
        let screens = [Screen(), Screen()]
        for screen in screens { #expect(delegates.addDelegate(screen)) }
        #expect(!delegates.addDelegate(screens[0]))
        delegates.invokeDelegates { $0.hear("x") }
        #expect(screens.map(\.words) == [["x"], ["x"]])
        #expect(delegates.removeDelegate(screens[0]))
        delegates.invokeDelegates { $0.hear("y") }
        #expect(screens.map(\.words) == [["x"], ["x", "y"]])
        #expect(!delegates.contains(screens[0]) && delegates.contains(screens[1]) && delegates.count == 1)
        delegates.removeAllDelegates()
        #expect(delegates.count == 0)
        withExtendedLifetime(screens) {}
    }

    @Test("on the main actor are called later, in order, for calls on other threads; and none overtakes another")
    @MainActor
    func otherThread() async {
        let screen = Screen()
        delegates.addDelegate(screen)
        let delegates = delegates
        blockUntilDone { for number in 0..<100 { delegates.invokeDelegates { $0.hear("\(number)") } } }
        #expect(screen.words.isEmpty)
        // This one sends what waits, before its own.
        delegates.invokeDelegates { $0.hear("last") }
        while screen.words.count < 101 { await Task.yield() }
        #expect(screen.words == (0..<100).map(String.init) + ["last"])
    }

    @Test("that aren't Sendable are called on the actor that adds them, and not after it has removed them")
    func actors() async {
        let library = Library()
        await library.join(delegates)
        for number in 0..<1000 { delegates.invokeDelegates { $0.hear("\(number)") } }
        while await library.words.count < 1000 { await Task.yield() }
        #expect(await library.words == (0..<1000).map(String.init))
        for _ in 0..<100 {
            await library.join(delegates)
            let delegates = delegates
            async let calls: Void = Task.detached {
                for _ in 0..<100 { delegates.invokeDelegates { $0.hear("x") } }
            }.value
            let count = await library.leave(delegates)
            await calls
            #expect(await library.words.count == count)
        }
    }

    @Test("without an actor are called on the thread of the caller")
    func noActor() async throws {
        let delegates = SharedMulticastDelegate<any Listener>()
        let scribe = Scribe("a", record)
        #expect(delegates.addDelegate(scribe))
        delegates.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["a x"])
        try await onThread { delegates.invokeDelegates { $0.hear("y") } }
        #expect(record.lines == ["a x", "a y"])
    }

    @Test("are called for a nested call after the outer one") @MainActor
    func nested() {
        let screens = [Screen(), Screen()]
        for screen in screens { delegates.addDelegate(screen) }
        let delegates = delegates
        screens[0].reaction = { screen in
            if screen.words.count == 1 { delegates.invokeDelegates { $0.hear("inner") } }
        }
        delegates.invokeDelegates { $0.hear("outer") }
        #expect(screens.map(\.words) == [["outer", "inner"], ["outer", "inner"]])
    }

    @Test("are not called for what waits after they were removed or released") @MainActor
    func leaving() async {
        let removed = Screen()
        let stays = Screen()
        var released: Screen? = Screen()
        for case let screen? in [removed, released, stays] { delegates.addDelegate(screen) }
        let delegates = delegates
        blockUntilDone { delegates.invokeDelegates { $0.hear("x") } }
        delegates.removeDelegate(removed)
        weak let observed = released
        released = nil
        #expect(observed == nil)
        while stays.words.isEmpty { await Task.yield() }
        #expect(removed.words.isEmpty)
        #expect(delegates.count == 1)
    }

    @Test("leave nothing behind when the last one of an actor is removed by its own call, or was released") @MainActor
    func lastOne() {
        let delegates = delegates
        func hasMembers() -> Bool {
            delegates.membership.acquire()
            defer { delegates.membership.release() }
            return delegates.membership.hasMembers
        }
        let screen = Screen()
        screen.reaction = { screen in delegates.removeDelegate(screen) }
        delegates.addDelegate(screen)
        delegates.invokeDelegates { $0.hear("x") }
        #expect(screen.words == ["x"] && !hasMembers())
        var released: Screen? = Screen()
        for case let screen? in [released] { delegates.addDelegate(screen) }
        released = nil
        #expect(hasMembers())
        delegates.invokeDelegates { $0.hear("y") }
        #expect(!hasMembers())
    }

    @Test("end with their actor, which is not kept alive")
    func goneActor() async {
        weak var observed: Library?
        do {
            let library = Library()
            observed = library
            await library.join(delegates)
            delegates.invokeDelegates { $0.hear("x") }
        }
        // The task that calls may hold it for a moment longer.
        while observed != nil { await Task.yield() }
        delegates.invokeDelegates { $0.hear("y") }
        #expect(delegates.count == 0)
    }

    @Test("do not accumulate when their actors end, although none is called")
    func goneActors() async {
        for _ in 0..<200 {
            await Library().join(delegates)
            // The task that calls may hold it for a moment longer.
            while delegates.count > 0 { await Task.yield() }
            #expect(delegates.membership.bound.count <= 16)
        }
    }

    @Test("a thread is not kept for the calls of others")
    func courtesy() async throws {
        let delegates = SharedMulticastDelegate<any Listener>(pendingLimit: .max)
        let isOver = Box(false)
        let scribe = Scribe("a", record)
        delegates.addDelegate(scribe)
        let other = Task.detached {
            try await onThread { while !isOver.value { delegates.invokeDelegates { $0.hear("other") } } }
        }
        try await onThread {
            // This must not return before the other one has ended.
            for _ in 0..<20 { delegates.invokeDelegates { $0.hear("mine") } }
            isOver.value = true
        }
        try await other.value
        while record.lines.count(where: { $0 == "a mine" }) < 20 { await Task.yield() }
    }

    @Test("of a protocol of the main actor are called there, from any thread and in order") @MainActor
    func mainActorProtocol() async {
        let delegates = SharedMulticastDelegate<any Drawing>()
        let canvases = [Canvas(), Canvas()]
        for canvas in canvases { delegates.addDelegate(canvas) }
        delegates.invokeDelegates(on: .main) { $0.draw(1) }
        #expect(canvases.map(\.numbers) == [[1], [1]])
        blockUntilDone { for number in 2...50 { delegates.invokeDelegates(on: .main) { $0.draw(number) } } }
        #expect(canvases[0].numbers == [1])
        delegates.removeDelegate(canvases[1])
        delegates.invokeDelegates(on: .main) { $0.draw(51) }
        while canvases[0].numbers.count < 51 { await Task.yield() }
        #expect(canvases[0].numbers == Array(1...51) && canvases[1].numbers == [1])
    }

    @Test("that are Sendable can be called on the main actor wherever they were added") @MainActor
    func onMain() async throws {
        let delegates = SharedMulticastDelegate<any Listener>()
        let scribes = [
            Scribe("a", record) { _ in MainActor.preconditionIsolated() },
            Scribe("b", record) { _ in MainActor.preconditionIsolated() },
        ]
        delegates.addDelegate(scribes[0])
        delegates.addDelegate(scribes[1], isolation: MainActor.shared)
        try await onThread { delegates.invokeDelegates(on: .main) { $0.hear("x") } }
        while record.lines.count < 2 { await Task.yield() }
        #expect(record.lines.sorted() == ["a x", "b x"])
        delegates.invokeDelegates(on: .main) { $0.hear("y") }
        #expect(record.lines.count == 4)
        withExtendedLifetime(scribes) {}
    }
}
