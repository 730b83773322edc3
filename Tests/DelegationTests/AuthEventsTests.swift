import Delegation
import Testing

private struct Account: Equatable, Sendable { let name: String }
private struct OtherAccount: Sendable {}

private final class Greeter: AuthEventsDelegate, Sendable {
    let record: Record
    init(_ record: Record) { self.record = record }
    func userIsLoggedIn(user: Account) { record.add("hello \(user.name)") }
    func userIsLoggedOut(user: Account?) { record.add("bye \(user?.name ?? "-")") }
    func userAuthStatusChanged(user: Account?, isLoggedIn: Bool?) { record.add("changed") }
}

@Suite("Auth events", .timeLimit(.minutes(5)))
struct AuthEventsTests {
    private let record = Record()
    private let events = AuthEvents<Account>()

    @Test("reach delegates, each once, until they are removed")
    func delegates() {
        let greeter = Greeter(record)
        #expect(events.addDelegate(greeter))
        #expect(!events.addDelegate(greeter))
        events.userIsLoggedIn(user: Account(name: "ada"))
        events.userAuthStatusChanged()
        events.userIsLoggedOut()
        events.userIsLoggedOut(user: Account(name: "ada"))
        #expect(record.lines == ["hello ada", "changed", "bye -", "bye ada"])
        #expect(events.removeDelegate(greeter))
        events.userIsLoggedOut(user: Account(name: "ada"))
        #expect(record.lines.count == 4)
    }

    @Test("reach closures as values")
    func closures() {
        let heard = Box<[AuthEvent<Account>]>([])
        let token = events.observe { event in heard.update { $0.append(event) } }
        let ada = Account(name: "ada")
        events.userIsLoggedIn(user: ada)
        events.userAuthStatusChanged(user: ada, isLoggedIn: true)
        events.userIsLoggedOut(user: ada)
        events.userIsLoggedOut()
        #expect(
            heard.value == [.loggedIn(ada), .statusChanged(ada, isLoggedIn: true), .loggedOut(ada), .loggedOut(nil)])
        withExtendedLifetime(token) {}
    }

    @Test("can be taken from a sequence, which ends with them")
    func sequence() async {
        var events: AuthEvents<Account>? = AuthEvents()
        let sequence = events?.events()
        events?.userIsLoggedIn(user: Account(name: "ada"))
        events?.userIsLoggedOut()
        events = nil
        var heard: [AuthEvent<Account>] = []
        if let sequence { for await event in sequence { heard.append(event) } }
        #expect(heard == [.loggedIn(Account(name: "ada")), .loggedOut(nil)])
    }

    @Test("reach an actor, and the main actor, in the order of the posts") @MainActor
    func actors() async {
        actor Diary {
            var events: [AuthEvent<Account>] = []
        }
        let diary = Diary()
        var heard: [AuthEvent<Account>] = []
        let tokens = [
            events.observe(on: .main) { heard.append($0) },
            events.observe(on: diary) { diary, event in diary.events.append(event) },
        ]
        let events = events
        let all: [AuthEvent<Account>] = [.loggedIn(Account(name: "ada")), .loggedOut(nil)]
        events.userIsLoggedIn(user: Account(name: "ada"))
        #expect(heard == [all[0]])
        await Task.detached { events.userIsLoggedOut() }.value
        while heard.count < 2 { await Task.yield() }
        while await diary.events.count < 2 { await Task.yield() }
        #expect(heard == all)
        #expect(await diary.events == all)
        withExtendedLifetime(tokens) {}
    }

    @Test("one shared instance exists for each type of user; more instances can be created")
    func shared() {
        #expect(AuthEvents<Account>.shared === AuthEvents<Account>.shared)
        #expect(AuthEvents<OtherAccount>.shared as AnyObject !== AuthEvents<Account>.shared as AnyObject)
        let greeter = Greeter(record)
        AuthEvents<Account>.shared.addDelegate(greeter)
        events.userIsLoggedIn(user: Account(name: "nobody"))
        AuthEvents<Account>.shared.userIsLoggedIn(user: Account(name: "ada"))
        #expect(record.lines == ["hello ada"])
    }

    @Test("forward the events of another instance")
    func chained() {
        let inner = AuthEvents<Account>()
        events.addDelegate(inner)
        let greeter = Greeter(record)
        inner.addDelegate(greeter)
        events.userIsLoggedIn(user: Account(name: "ada"))
        #expect(record.lines == ["hello ada"])
    }

    @Test("events posted during a notification follow after it, and reach every delegate")
    func nested() {
        let events = events
        let record = record
        let first = events.observe { if case .loggedIn = $0 { events.userIsLoggedOut() } }
        let last = events.observe {
            switch $0 {
            case .loggedIn: record.add("in")
            case .loggedOut: record.add("out")
            case .statusChanged: break
            }
        }
        events.userIsLoggedIn(user: Account(name: "ada"))
        #expect(record.lines == ["in", "out"])
        withExtendedLifetime((first, last)) {}
    }

    @Test("a chain of ten thousand posts does not overflow the stack")
    func longChain() {
        let events = events
        let count = Box(0)
        let token = events.observe { _ in
            count.update { $0 += 1 }
            if count.value < 10_000 { events.userIsLoggedOut() }
        }
        events.userIsLoggedOut()
        #expect(count.value == 10_000)
        withExtendedLifetime(token) {}
    }
}
