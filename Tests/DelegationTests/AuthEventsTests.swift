import Delegation
import Testing

private struct Account: Equatable, Sendable { let name: String }
private struct OtherAccount: Sendable {}
private struct Member: Identifiable, Sendable {
    let id: Int
    var plan = "free"
}

private final class Greeter: AuthEventsDelegate, Sendable {
    let record: Record
    init(_ record: Record) { self.record = record }
    func userIsLoggedIn(user: Account, sender: any DelegateSender) { record.add("hello \(user.name)") }
    func userIsLoggedOut(user: Account?, sender: any DelegateSender) { record.add("bye \(user?.name ?? "-")") }
    func userAuthStatusChanged(user: Account?, isLoggedIn: Bool?, sender: any DelegateSender) { record.add("changed") }
}

@Suite("Auth events", .timeLimit(.minutes(20)))
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

    @Test("notify a late delegate of the current user on request") @MainActor
    func late() async {
        let ada = Account(name: "ada")
        events.userIsLoggedIn(user: ada)
        let (greeter, other) = (Greeter(record), Greeter(record))
        #expect(events.addDelegate(greeter, initial: true))
        #expect(events.addDelegate(other))
        #expect(record.lines == ["hello ada"])
        var heard: [AuthEvent<Account>] = []
        let token = events.observe(on: .main, initial: true) { heard.append($0) }
        #expect(heard == [.loggedIn(ada)])
        for await event in events.events(initial: true) {
            #expect(event == .loggedIn(ada))
            break
        }
        events.userIsLoggedOut()
        let closure = events.observe(initial: true) { [record] _ in record.add("late") }
        #expect(heard == [.loggedIn(ada), .loggedOut(nil)] && !record.lines.contains("late"))
        withExtendedLifetime((token, closure)) {}
    }

    @Test("contain the current user, until a logout of this user")
    func currentUser() {
        let (ada, bob) = (Account(name: "ada"), Account(name: "bob"))
        #expect(events.currentUser == nil)
        events.userIsLoggedIn(user: ada)
        events.userIsLoggedOut(user: bob)
        events.userAuthStatusChanged(user: bob)
        events.userAuthStatusChanged(user: bob, isLoggedIn: false)
        #expect(events.currentUser == ada)
        events.userAuthStatusChanged(user: bob, isLoggedIn: true)
        #expect(events.currentUser == bob)
        events.userAuthStatusChanged(isLoggedIn: false)
        #expect(events.currentUser == nil)

        let members = AuthEvents<Member>()
        members.userIsLoggedIn(user: Member(id: 1))
        members.userIsLoggedOut(user: Member(id: 2))
        #expect(members.currentUser?.id == 1)
        members.userIsLoggedOut(user: Member(id: 1, plan: "pro"))
        #expect(members.currentUser == nil)

        // Users that can't be compared.
        let others = AuthEvents<OtherAccount>()
        others.userIsLoggedIn(user: OtherAccount())
        others.userIsLoggedOut(user: OtherAccount())
        #expect(others.currentUser == nil)
    }

    @Test("are the sender that their delegates receive, also of events that they forward")
    func sender() {
        final class Listener: AuthEventsDelegate, Sendable {
            let senders = Box<[ObjectIdentifier]>([])
            func userIsLoggedIn(user: Account, sender: any DelegateSender) {
                senders.update { $0.append(ObjectIdentifier(sender)) }
            }
            func userIsLoggedOut(user: Account?, sender: any DelegateSender) {
                senders.update { $0.append(ObjectIdentifier(sender)) }
            }
            func userAuthStatusChanged(user: Account?, isLoggedIn: Bool?, sender: any DelegateSender) {}
        }
        let (inner, listener) = (AuthEvents<Account>(), Listener())
        events.addDelegate(inner)
        events.addDelegate(listener)
        inner.addDelegate(listener)
        events.userIsLoggedIn(user: Account(name: "ada"))
        inner.userIsLoggedOut()
        #expect(listener.senders.value == [inner, events, inner].map { ObjectIdentifier($0) })
        #expect(events.currentUser != nil && inner.currentUser == nil)
    }

    @Test("count and remove their members")
    func members() {
        let (greeter, other) = (Greeter(record), Greeter(record))
        events.addDelegate(greeter)
        let token = events.observe { [record] _ in record.add("closure") }
        #expect(events.count == 2 && events.contains(greeter) && !events.contains(other))
        events.removeAllDelegates()
        events.userIsLoggedOut()
        #expect(events.count == 0 && !events.contains(greeter) && record.lines.isEmpty)
        #expect(events.addDelegate(greeter))
        withExtendedLifetime(token) {}
    }

    @Test("follow one login after another, however many threads post")
    func threads() async throws {
        let events = AuthEvents<Account>(pendingLimit: .max)
        let last = Box<AuthEvent<Account>?>(nil)
        let count = Box(0)
        let token = events.observe { event in
            last.value = event
            count.update { $0 += 1 }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    try await onThread {
                        for number in 0..<500 {
                            events.userIsLoggedIn(user: Account(name: "\(thread) \(number)"))
                            events.userIsLoggedOut(user: Account(name: "\(thread) \(number)"))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        while count.value < 4000 { await Task.yield() }
        events.userIsLoggedIn(user: Account(name: "ada"))
        #expect(events.currentUser == Account(name: "ada"))
        withExtendedLifetime(token) {}
    }
}
