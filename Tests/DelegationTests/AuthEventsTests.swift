import Delegation
import Testing

private struct Account: Equatable, Sendable { let name: String }
private struct OtherAccount: Sendable {}

private final class Greeter: AuthEventsDelegate {
    let record: Record
    init(_ record: Record) { self.record = record }
    func userIsLoggedIn(user: Account) { record.add("hello \(user.name)") }
}

private final class Cleaner: AuthEventsDelegate {
    typealias User = Account
    let record: Record
    init(_ record: Record) { self.record = record }
    func userIsLoggedOut() { record.add("clean") }
    func userAuthStatusChanged() { record.add("changed") }
}

@Suite("Auth events", .timeLimit(.minutes(5)))
struct AuthEventsTests {
    private let record = Record()
    private let events = AuthEvents<Account>()

    @Test("reach delegates that have only the methods they need")
    func defaults() {
        let greeter = Greeter(record)
        let cleaner = Cleaner(record)
        #expect(events.addDelegate(greeter))
        #expect(events.addDelegate(cleaner))
        #expect(!events.addDelegate(cleaner))
        events.userIsLoggedIn(user: Account(name: "ada"))
        events.userAuthStatusChanged()
        events.userIsLoggedOut()
        #expect(record.lines == ["hello ada", "changed", "clean"])
        #expect(events.removeDelegate(cleaner))
        events.userIsLoggedOut(user: Account(name: "ada"))
        #expect(record.lines.count == 3)
    }

    @Test("pass the user to delegates that ask for it, and only the event to the others")
    func withUser() {
        let cleaner = Cleaner(record)
        events.addDelegate(cleaner)
        let heard = Box<[AuthEvent<Account>]>([])
        let token = events.addHandler { event in heard.update { $0.append(event) } }
        let ada = Account(name: "ada")
        events.userIsLoggedIn(user: ada)
        events.userAuthStatusChanged(user: ada, isLoggedIn: true)
        events.userIsLoggedOut(user: ada)
        events.userIsLoggedOut()
        #expect(
            heard.value == [.loggedIn(ada), .statusChanged(ada, isLoggedIn: true), .loggedOut(ada), .loggedOut(nil)])
        #expect(record.lines == ["changed", "clean", "clean"])
        withExtendedLifetime(token) {}
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
        let first = events.addHandler { if case .loggedIn = $0 { events.userIsLoggedOut() } }
        let last = events.addHandler {
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
        let token = events.addHandler { _ in
            count.update { $0 += 1 }
            if count.value < 10_000 { events.userIsLoggedOut() }
        }
        events.userIsLoggedOut()
        #expect(count.value == 10_000)
        withExtendedLifetime(token) {}
    }
}
