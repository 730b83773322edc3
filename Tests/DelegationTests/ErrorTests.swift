import Delegation
import Testing

@Suite("Delegates that throw")
struct ErrorTests {
    private enum Refusal: Error, Equatable { case busy, closed }

    private let record = Record()
    private let delegates = MulticastDelegate<any Listener>()
    private let scribes: [Scribe]

    init() {
        let record = record
        scribes = ["a", "b", "c"].map { Scribe($0, record) }
        for scribe in scribes { delegates.addDelegate(scribe) }
    }

    private func refuse(_ listener: any Listener) throws(Refusal) {
        listener.hear("x")
        if listener === scribes[0] { throw .busy }
        if listener === scribes[1] { throw .closed }
    }

    private func check(_ error: MulticastError<Refusal>?) {
        #expect(record.lines.sorted() == ["a x", "b x", "c x"])
        #expect(error?.errors == [.busy, .closed])
        #expect(error?.entries.map(\.delegate) == scribes.prefix(2).map(ObjectIdentifier.init))
        #expect(error?.description == "2 of the delegates have failed: busy; closed")
    }

    @Test("do not prevent calls to the others, and each error is collected")
    func synchronous() {
        let error = #expect(throws: MulticastError<Refusal>.self) {
            try delegates.invokeDelegates { listener throws(Refusal) in try refuse(listener) }
        }
        check(error)
    }

    @Test("in order: errors are collected in the same way")
    func inOrder() async {
        let error = await #expect(throws: MulticastError<Refusal>.self) {
            try await delegates.invokeDelegatesInOrder { listener async throws(Refusal) in try refuse(listener) }
        }
        check(error)
        #expect(record.lines == ["a x", "b x", "c x"])
    }

    @Test("concurrently: errors are collected in the order of registration")
    func concurrently() async {
        let error = await #expect(throws: MulticastError<Refusal>.self) {
            try await delegates.invokeDelegatesConcurrently { listener async throws(Refusal) in try refuse(listener) }
        }
        check(error)
    }

    @Test("if no delegate throws, nothing is thrown")
    func noErrors() throws {
        struct Other: Error {}
        try delegates.invokeDelegates { listener in
            listener.hear("x")
            if listener === record { throw Other() }
        }
        #expect(record.lines.count == 3)
    }

    @Test("errors of any type are collected unchanged")
    func untyped() {
        struct Other: Error {}
        let error = #expect(throws: MulticastError<any Error>.self) {
            try delegates.invokeDelegates { if $0 === scribes[2] { throw Other() } }
        }
        #expect(error?.errors.first is Other)
    }
}
