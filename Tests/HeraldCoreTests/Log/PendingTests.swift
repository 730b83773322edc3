import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Scheduled events", .timeLimit(.minutes(20)))
struct PendingTests {
    private let memory = MemoryStore()
    private let clock = ManualClock()

    private func bench(_ configuration: Hub.Configuration = .init()) throws -> HubBench {
        try HubBench(store: RefusingStore(memory), configuration: configuration, clock: clock.clock)
    }

    private func draft(
        _ id: String, in milliseconds: Int64?, type: String = "a.b", data: String = "{}", app: AppKey = .default
    ) -> EventDraft {
        let dueAt = milliseconds.map { clock.wall + $0 }
        return EventDraft(
            event: Event(type, id: id, subject: "s", time: dueAt ?? clock.wall, data: data, app: app), mayExist: true,
            bringsTime: false, deliverAt: dueAt)
    }

    private func change(_ bench: HubBench, _ id: String, _ action: PendingWrite.Action) async -> HubError? {
        let result = await bench.hub.result(of: PendingWrite.self) {
            PendingWrite(id: id, action: action, completion: $0)
        }
        switch result {
        case .done(let outcome): return outcome.error
        case .refused(let refusal): return refusal
        case .replayed: return .busy
        }
    }

    private var log: [String] { memory.read { $0.events.map(\.id) } }

    @Test("an event is published at its time, once and not before, and the delegates are called")
    func once() async throws {
        let bench = try bench()
        await bench.register()
        let head = memory.read { $0.head }
        let posted = try await bench.hub.publish([draft("later", in: 60_000), draft("now", in: nil)])
        #expect(posted.map(\.disposition) == [.scheduled, .accepted])
        #expect(posted.map(\.deliverAt) == [clock.wall + 60_000, nil])
        clock.advance(seconds: 59)
        _ = try await bench.post("c.d", id: "other")
        #expect(log.suffix(2) == ["now", "other"] && bench.hub.committed.pending.total == 1)
        #expect(bench.hub.committed.pending.lateness(clock.wall) == 0)
        clock.advance(seconds: 1)
        try await eventually("it is published") { memory.read { $0.head } == head + 3 }
        let event = try #require(memory.read { $0.events.last })
        #expect(event.id == "later" && event.time == posted[0].deliverAt)
        try await eventually("the delegate is called") {
            bench.callbacks.items.filter { $0.event.id == "later" }.count == 1
        }
        #expect(bench.hub.committed.pending.total == 0 && memory.read { $0.pending.isEmpty })
        // A repeated request finds the event in the log, whatever the time.
        let again = try await bench.hub.publish([draft("later", in: 60_000)])
        #expect(again.map(\.disposition) == [.existed] && again[0].differences.isEmpty && again[0].deliverAt == nil)
        await bench.stop()
    }

    @Test("10,000 events that are due within a second are published in the order of their times")
    func many() async throws {
        let bench = try bench()
        for part in 0..<10 {
            let drafts = (0..<1_000).map { number in
                let place = (number * 10 + part) * 7_919 % 10_000
                return draft("e\(place)", in: 5_000 + Int64(place / 10))
            }
            #expect(try await bench.hub.publish(drafts).allSatisfy { $0.disposition == .scheduled })
        }
        #expect(bench.hub.committed.pending.count(of: .default).events == 10_000)
        clock.advance(seconds: 6)
        try await eventually("all are published") { bench.hub.committed.pending.total == 0 }
        let places = log.compactMap { $0.first == "e" ? Int($0.dropFirst()) : nil }
        #expect(places.count == 10_000 && Set(places).count == 10_000)
        #expect(places.map { $0 / 10 } == places.map { $0 / 10 }.sorted())
        #expect(bench.hub.committed.pending.count(of: .default).bytes == 0)
        await bench.stop()
    }

    @Test("due events of other apps are published soon, however many one app has")
    func turns() async throws {
        let apps = (2...4).map { AppKey(rawValue: $0) }
        try memory.transaction { (transaction) throws(StoreError) in
            for app in apps {
                var settings = App.default.settings
                settings.name = "app\(app.rawValue)"
                try transaction.setApp(
                    App(
                        key: app, id: "app_\(app.rawValue)", settings: settings, createdAt: 1, updatedAt: 1,
                        version: 1))
            }
        }
        let bench = try bench()
        for part in 0..<4 {
            let drafts = (0..<1_000).map { draft("e\(part * 1_000 + $0)", in: 1_000 + Int64(part)) }
            _ = try await bench.hub.publish(drafts)
        }
        for app in apps {
            let drafts = (0..<3).map { draft("\(app.rawValue).\($0)", in: 2_000, app: app) }
            guard case .done = await bench.publish(drafts, app: app)
            else { throw Unexpected("the events of \(app) are not scheduled") }
            #expect(bench.hub.committed.pending.count(of: app).events == 3)
        }
        clock.advance(seconds: 3)
        try await eventually("all are published") { bench.hub.committed.pending.total == 0 }
        let order = log
        #expect(order.count == 4_009 && Set(order).count == 4_009)
        for app in apps {
            let places = (0..<3).compactMap { order.firstIndex(of: "\(app.rawValue).\($0)") }
            #expect(places == places.sorted() && places.allSatisfy { $0 < 1_000 }, "\(places)")
        }
        let numbers = order.compactMap { $0.first == "e" ? Int($0.dropFirst()) : nil }
        #expect(numbers == numbers.sorted(), "the order of an app is that of its times")
        await bench.stop()
    }

    @Test("an event is cancelled or published, never both")
    func race() async throws {
        let bench = try bench()
        _ = try await bench.hub.publish((0..<900).map { draft("e\($0)", in: 1_000) })
        async let advanced: Void = { clock.advance(seconds: 1) }()
        var cancelled: Set<String> = []
        for number in (0..<900).reversed() where await change(bench, "e\(number)", .cancel) == nil {
            cancelled.insert("e\(number)")
        }
        await advanced
        try await eventually("the others are published") { bench.hub.committed.pending.total == 0 }
        let published = Set(log)
        #expect(published.isDisjoint(with: cancelled) && published.count + cancelled.count == 900)
        #expect(await change(bench, "none", .cancel)?.problem == .notFound)
        if let id = published.first {
            #expect(await change(bench, id, .cancel)?.problem == .alreadyPublished)
            #expect(await change(bench, id, .move(to: clock.wall + 9))?.problem == .alreadyPublished)
        }
        await bench.stop()
    }

    @Test("a time can be changed, and one in the past publishes at once")
    func moved() async throws {
        let bench = try bench()
        _ = try await bench.hub.publish([draft("a", in: 1_000), draft("b", in: 2_000)])
        #expect(await change(bench, "a", .move(to: clock.wall + 5_000)) == nil)
        clock.advance(seconds: 3)
        try await eventually("b") { log == ["b"] }
        #expect(await change(bench, "a", .move(to: clock.wall - 1)) == nil)
        try await eventually("a") { log == ["b", "a"] }
        #expect(memory.read { $0.events.last?.time } == clock.wall - 1)
        await bench.stop()
    }

    @Test("a repeated id is a duplicate, and one that is published now replaces the scheduled one")
    func ids() async throws {
        let bench = try bench()
        let first = draft("a", in: 1_000, data: "1")
        _ = try await bench.hub.publish([first])
        let same = try await bench.hub.publish([draft("a", in: 1_000, data: "1")])[0]
        #expect(same.disposition == .existed && same.deliverAt == first.deliverAt && same.differences.isEmpty)
        let other = try await bench.hub.publish([draft("a", in: 2_000, data: "2")])[0]
        #expect(other.disposition == .existed && other.differences == ["/data", "/deliver_at"])
        #expect(bench.hub.committed.pending.total == 1)
        #expect(try await bench.hub.publish([draft("a", in: nil, data: "3")])[0].disposition == .accepted)
        clock.advance(seconds: 2)
        try await eventually("the row is removed") { bench.hub.committed.pending.total == 0 }
        #expect(log == ["a"] && memory.read { $0.events.last.map { String(decoding: $0.data, as: UTF8.self) } } == "3")
        await bench.stop()
    }

    @Test("an event that was published at once replaces a scheduled one, also after retention has removed it")
    func replacedAndRemoved() async throws {
        let bench = try bench()
        let ofSource = Event("a.b", id: "c", time: clock.wall, attributes: [KeyValue("source", "/c")])
        let later = EventDraft(event: ofSource, mayExist: true, bringsTime: false, deliverAt: clock.wall + 1_000)
        _ = try await bench.hub.publish([draft("a", in: 1_000), draft("b", in: 1_000), later])
        let other = Event("a.b", id: "b", attributes: [KeyValue("source", "/b")])
        let now = [
            draft("a", in: nil), draft("c", in: nil), EventDraft(event: ofSource, mayExist: true),
            EventDraft(event: other, mayExist: true), draft("last", in: nil),
        ]
        #expect(try await bench.hub.publish(now).allSatisfy { $0.disposition == .accepted })
        #expect(bench.hub.committed.pending.total == 3)
        let head = memory.read { $0.head }
        let isRemoved = await withCheckedContinuation { continuation in
            bench.hub.submit(TrimWrite(events: [1...head - 1]) { continuation.resume(returning: $0) })
        }
        #expect(isRemoved && log == ["last"])
        // Another source has used the id of "b" at once, and the event "c" of its source has another id in the log.
        #expect(memory.read { $0.pending.values.map(\.event.id) } == ["b"])
        #expect(bench.hub.committed.pending.total == 1)
        clock.advance(seconds: 1)
        try await eventually("the other one is published") { bench.hub.committed.pending.total == 0 }
        #expect(log == ["last", "b"])
        await bench.stop()
    }

    @Test("a repeated id is a duplicate, whatever the count of scheduled events is")
    func wrongCount() async throws {
        let dueAt = clock.wall + 9_000
        try memory.transaction { (transaction) throws(StoreError) in
            try transaction.addPending(Event("a.b", id: "a", subject: "s", time: dueAt), dueAt: dueAt)
        }
        let bench = try bench()
        let posted = try await bench.hub.publish([draft("a", in: 1_000), draft("b", in: 1_000)])
        #expect(posted.map(\.disposition) == [.existed, .scheduled])
        await bench.stop()
    }

    @Test("a built-in family sets its value when the event is published")
    func families() async throws {
        let bench = try bench()
        let login = draft("in", in: 1_000, type: "auth.logged_in", data: #"{"user":{"id":42}}"#)
        _ = try await bench.hub.publish([login])
        #expect(memory.read { $0.authStatus.isEmpty })
        clock.advance(seconds: 1)
        try await eventually("the login") { log.count == 2 }
        #expect(memory.read { $0.authStatus.values.first?.isLoggedIn } == true)
        #expect(memory.read { $0.events.map(\.type) } == ["auth.logged_in", "auth.status_changed"])
        await bench.stop()
    }

    @Test("a built-in family sets its value, also of an event whose id another source has")
    func familyOfQualified() async throws {
        let bench = try bench()
        let other = Event("a.b", id: "in", attributes: [KeyValue("source", "/a")])
        _ = try await bench.hub.publish([EventDraft(event: other, mayExist: true)])
        let login = draft("in", in: 1_000, type: "auth.logged_in", data: #"{"user":{"id":42}}"#)
        #expect(try await bench.hub.publish([login]).map(\.disposition) == [.scheduled])
        clock.advance(seconds: 1)
        try await eventually("the login") { log.count == 3 }
        #expect(memory.read { $0.authStatus.values.first?.isLoggedIn } == true)
        #expect(memory.read { $0.events.last?.type } == "auth.status_changed")
        await bench.stop()
    }

    @Test("an event can be moved and cancelled after one of another source was published with its id")
    func otherSource() async throws {
        let bench = try bench()
        _ = try await bench.hub.publish([draft("a", in: 1_000)])
        let other = Event("a.b", id: "a", attributes: [KeyValue("source", "/a")])
        let posted = try await bench.hub.publish([EventDraft(event: other, mayExist: true)])
        #expect(posted.map(\.disposition) == [.accepted])
        #expect(await change(bench, "a", .move(to: clock.wall + 2_000)) == nil)
        #expect(await change(bench, "a", .cancel) == nil)
        #expect(bench.hub.committed.pending.total == 0)
        #expect(await change(bench, "a", .cancel)?.problem == .alreadyPublished)
        clock.advance(seconds: 3)
        _ = try await bench.post("c.d", id: "b")
        #expect(log == ["a", "b"])
        await bench.stop()
    }

    @Test("an event that was published at once under an id with its source is not moved or cancelled")
    func publishedUnderOtherID() async throws {
        let bench = try bench()
        _ = try await bench.hub.publish([draft("a", in: 1_000)])
        let other = Event("a.b", id: "a", attributes: [KeyValue("source", "/a")])
        let posted = try await bench.hub.publish([EventDraft(event: other, mayExist: true), draft("a", in: nil)])
        #expect(posted.map(\.disposition) == [.accepted, .accepted])
        #expect(await change(bench, "a", .move(to: clock.wall + 2_000))?.problem == .alreadyPublished)
        #expect(await change(bench, "a", .cancel)?.problem == .alreadyPublished)
        clock.advance(seconds: 1)
        try await eventually("the row is removed") { bench.hub.committed.pending.total == 0 }
        #expect(log.count == 2)
        await bench.stop()
    }

    @Test("a transaction that fails, or whose outcome is unknown, publishes each event once")
    func failures() async throws {
        let bench = try bench()
        _ = try await bench.hub.publish((0..<20).map { draft("e\($0)", in: 1_000) })
        bench.store.fail(.full, .unknown(reason: "test"))
        clock.advance(seconds: 1)
        // After the failure, the next attempt is a second later.
        try await eventually("all are published") {
            clock.advance(seconds: 1)
            return bench.hub.committed.pending.total == 0
        }
        #expect(log.sorted() == (0..<20).map { "e\($0)" }.sorted())
        #expect(memory.read { $0.pending.isEmpty })
        await bench.stop()
    }

    @Test("hubs that share a store publish each event once, and have the same counts")
    func shared() async throws {
        let (a, b) = (try bench(), try bench())
        for part in 0..<10 {
            let bench = part % 2 == 0 ? a : b
            _ = try await bench.hub.publish((0..<50).map { draft("e\(part).\($0)", in: 1_000 + Int64(part)) })
        }
        try await eventually("both have all") {
            a.hub.committed.pending.total == 500 && b.hub.committed.pending.total == 500
        }
        clock.advance(seconds: 2)
        try await eventually("all are published") {
            a.hub.committed.pending.total == 0 && b.hub.committed.pending.total == 0
        }
        #expect(log.count == 500 && Set(log).count == 500)
        for bench in [a, b] { await bench.stop() }
    }

    @Test("the number of scheduled events and the bytes of an app are limited")
    func limits() async throws {
        let full = PendingCount(app: .default, events: Int64(PendingEvent.maxCount) - 1, bytes: 10)
        try memory.transaction { (transaction) throws(StoreError) in
            var settings = App.default.settings
            settings.maxStoredBytes = 1_000
            try transaction.setApp(
                App(key: .default, id: App.default.id, settings: settings, createdAt: 1, updatedAt: 1, version: 2))
            try transaction.setPendingCount(full)
        }
        let bench = try bench()
        func problem(_ drafts: EventDraft...) async -> ProblemName? {
            if case .refused(let refusal) = await bench.publish(drafts) { return refusal.problem }
            return nil
        }
        #expect(await problem(draft("a", in: 9_000), draft("b", in: 9_000)) == .tooMany)
        #expect(log.isEmpty && memory.read { $0.pending.isEmpty })
        #expect(await problem(draft("a", in: 9_000, data: "\"" + String(repeating: "x", count: 500) + "\"")) == nil)
        #expect(
            await problem(draft("b", in: nil, data: "\"" + String(repeating: "x", count: 500) + "\"")) == .quotaExceeded
        )
        await bench.stop()
    }

    @Test("a repeated event is a duplicate also when its app may schedule no more")
    func repeatedAtLimit() async throws {
        try memory.transaction { (transaction) throws(StoreError) in
            try transaction.setPendingCount(
                PendingCount(app: .default, events: Int64(PendingEvent.maxCount) - 1, bytes: 10))
        }
        let bench = try bench()
        #expect(try await bench.hub.publish([draft("a", in: 9_000)])[0].disposition == .scheduled)
        #expect(try await bench.hub.publish([draft("a", in: 9_000)])[0].disposition == .existed)
        let posted = try await bench.hub.publish([draft("a", in: 9_000), draft("now", in: nil)])
        #expect(posted.map(\.disposition) == [.existed, .accepted])
        await #expect(throws: HubError.self) {
            try await bench.hub.publish([draft("a", in: 9_000), draft("b", in: 9_000)])
        }
        await bench.stop()
    }

    @Test("a hub that starts publishes what has become due while none ran")
    func restart() async throws {
        let first = try bench()
        _ = try await first.hub.publish([draft("a", in: 1_000)])
        await first.stop()
        clock.advance(seconds: 100)
        let second = try bench()
        try await eventually("it is published") { log == ["a"] && second.hub.committed.pending.total == 0 }
        await second.stop()
    }

    @Test("when an event is refused, the app with most refused events loses those beyond the limit")
    func refusedLimit() async throws {
        try memory.transaction { (transaction) throws(StoreError) in
            for number in 1...RefusedEvent.limit + 3 {
                let submission = Submission(
                    key: 0, app: number == 1 ? AppKey(rawValue: 2) : .default, id: "\(number)", type: "a.b",
                    subject: nil, time: 5, data: [0], deliverAt: nil)
                try transaction.addRefused(RefusedEvent(submission, reason: "", refusedAt: 9))
            }
            try transaction.addPending(Event(id: "bad").damaged(), dueAt: clock.wall)
            try transaction.setPendingCount(PendingCount(app: .default, events: 1, bytes: 1))
        }
        let bench = try bench()
        try await eventually("it is refused") { memory.read { $0.refused.last?.submission.id } == "bad" }
        let kept = memory.read { $0.refused.map(\.submission.id) }
        #expect(kept.count == Int(RefusedEvent.limit) && kept.prefix(2) == ["1", "6"])
        await bench.stop()
    }

    @Test("an event that is put aside is reported once, also if its commit got no response")
    func refusedWithoutResponse() async throws {
        try memory.transaction { (transaction) throws(StoreError) in
            try transaction.addPending(Event(id: "bad").damaged(), dueAt: clock.wall + 1_000)
            try transaction.setPendingCount(PendingCount(app: .default, events: 1, bytes: 1))
        }
        let bench = try bench()
        let reported = Recorder<String>()
        bench.hub.committed.refused.observe { reported.record($0.submission.id) }
        bench.store.fail(.unknown(reason: "test"))
        clock.advance(seconds: 1)
        try await eventually("it is put aside") { bench.hub.committed.pending.total == 0 }
        await bench.stop()
        #expect(memory.read { $0.refused.map(\.submission.id) } == ["bad"])
        #expect(reported.items == ["bad"] && bench.hub.committed.refused.count == 1)
    }

    @Test("what another process schedules before an unknown commit is known is published at its time")
    func scheduledMeanwhile() async throws {
        let bench = try bench()
        _ = try await bench.hub.publish([draft("a", in: 1_000)])
        let dueAt = clock.wall + 2_000
        let isScheduled = Flag()
        bench.store.duringTransaction.withLock { [memory, store = bench.store] hook in
            hook = {
                guard memory.read({ $0.events.contains { $0.id == "a" } }) else {
                    // Another transaction may come before the one that publishes.
                    store.fail(.unknown(reason: "test"))
                    return
                }
                guard !isScheduled.isSet else { return }
                _ = try? memory.transaction { (transaction) throws(StoreError) in
                    try transaction.addPending(Event(id: "b"), dueAt: dueAt)
                    try transaction.setPendingCount(PendingCount(app: .default, events: 1, bytes: 1))
                    try transaction.record([.pending(.default)], name: 1)
                }
                isScheduled.set()
            }
        }
        clock.advance(seconds: 1)
        try await eventually("the other one is scheduled") { isScheduled.isSet }
        clock.advance(seconds: 1)
        try await eventually("both are published") { log == ["a", "b"] }
        bench.store.duringTransaction.withLock { $0 = nil }
        await bench.stop()
    }

    @Test("the store is searched when an event is due, and not before")
    func idle() async throws {
        let bench = try bench()
        _ = try await bench.hub.publish([draft("a", in: 3_600_000)])
        let before = memory.dueSearches
        for _ in 1...20 {
            clock.advance(seconds: 0.1)
            await withCheckedContinuation { done in if !bench.hub.catchUp({ _ in done.resume() }) { done.resume() } }
        }
        #expect(memory.dueSearches == before)
        #expect(log.isEmpty)
        clock.advance(seconds: 3_600)
        try await eventually("it is published") { log == ["a"] }
        #expect(memory.dueSearches > before)
        await bench.stop()
    }
}
