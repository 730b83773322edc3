import HeraldModel
import HeraldTestSupport
import Testing

@Suite("Scheduled events in every store")
struct PendingConformance {
    private let other = AppKey(rawValue: 2)

    private func add(_ fixture: StoreFixture, _ events: [(Event, Int64)]) throws {
        try fixture.transaction { (transaction) throws(StoreError) in
            for (event, dueAt) in events { try transaction.addPending(event, dueAt: dueAt) }
        }
    }

    private func due(
        _ fixture: StoreFixture, at time: Int64, limit: Int = 99, maxBytes: Int = 9_999
    ) throws -> [DueEvent] {
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.duePending(at: time, limit: limit, maxBytes: maxBytes)
        }
    }

    @Test(
        "an event keeps all its parts, and is found by its id, also in its transaction", arguments: StoreKind.allCases)
    func parts(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let event = Event(
            "trial.ending", id: "a", subject: "user:42", time: -5, attributes: [KeyValue("source", "/\u{10FFFF}")],
            data: #"{"n": 1.50}"#)
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.pending(app: .default, id: "a") == nil)
            try transaction.addPending(event, dueAt: 70)
            #expect(try transaction.pending(app: .default, id: "a")?.dueAt == 70)
            try transaction.addPending(Event(id: "a", app: other), dueAt: 71)
        }
        _ = try fixture.restart()
        let reader = try fixture.store.makeReader()
        let found = try #require(try reader.pending(app: .default, id: "a"))
        #expect(found.dueAt == 70 && found.event.body == event.body && found.event.attributes == event.attributes)
        #expect((found.event.id, found.event.time, found.event.subject) == ("a", -5, "user:42"))
        #expect(try reader.pending(app: other, id: "a")?.event.subject == nil)
        #expect(try reader.pending(app: AppKey(rawValue: 3), id: "a") == nil)
    }

    @Test("due events come in the order of their times, then of their arrival", arguments: StoreKind.allCases)
    func order(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        #expect(try fixture.store.makeReader().nextPending() == nil)
        try add(
            fixture,
            [
                (Event(id: "late"), 30), (Event(id: "b"), 20), (Event(id: "c", app: other), 20), (Event(id: "a"), 10),
                (Event(id: "d"), 20),
            ])
        try fixture.append([Event(id: "b"), Event(id: "c")])
        #expect(try due(fixture, at: 9).isEmpty)
        let found = try due(fixture, at: 20)
        #expect(found.map(\.pending.event.id) == ["a", "b", "c", "d"])
        #expect(found.map(\.isInLog) == [false, true, false, false])
        #expect(try due(fixture, at: 99, limit: 2).map(\.pending.event.id) == ["a", "b"])
        let size = Event(id: "a").storedBytes
        #expect(try due(fixture, at: 99, maxBytes: size + 1).map(\.pending.event.id) == ["a", "b"])
        #expect(try due(fixture, at: 99, maxBytes: 1).map(\.pending.event.id) == ["a"])
        #expect(try fixture.store.makeReader().nextPending() == 10)
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.removePending(found.map(\.pending.key) + [999])
            #expect(try transaction.nextPending() == 30)
            try transaction.movePending(app: .default, id: "late", to: 5, time: 6)
            try transaction.movePending(app: .default, id: "none", to: 5, time: 6)
        }
        let moved = try due(fixture, at: 9)
        #expect(moved.map(\.pending.event.id) == ["late"] && moved.map(\.pending.event.time) == [6])
    }

    @Test(
        "the due events of one app, and the apps with their next times, are read by themselves",
        arguments: StoreKind.allCases)
    func turns(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let (third, fourth) = (AppKey(rawValue: 3), AppKey(rawValue: 4))
        try add(
            fixture,
            [
                (Event(id: "c"), 30), (Event(id: "a"), 10), (Event(id: "b"), 10), (Event(id: "x", app: other), 20),
                (Event(id: "y", app: other), 5), (Event(id: "z", app: fourth), 1),
            ])
        try fixture.append([Event(id: "b")])
        try fixture.transaction { (transaction) throws(StoreError) in
            // One app without a scheduled event, and one without a count.
            for (app, events) in [(AppKey.default, 3), (other, 2), (third, 1), (fourth, 0)] {
                try transaction.setPendingCount(PendingCount(app: app, events: Int64(events), bytes: 9))
            }
            let found = try transaction.duePending(of: .default, at: 29, limit: 9, maxBytes: 9_999)
            #expect(found.map(\.pending.event.id) == ["a", "b"] && found.map(\.isInLog) == [false, true])
            let bytes = try transaction.duePending(of: .default, at: 30, limit: 9, maxBytes: 1)
            #expect(bytes.map(\.pending.event.id) == ["a"])
            let limited = try transaction.duePending(of: other, at: 30, limit: 1, maxBytes: 9_999)
            #expect(limited.map(\.pending.event.id) == ["y"])
            #expect(try transaction.duePending(of: third, at: 30, limit: 9, maxBytes: 9_999).isEmpty)
            let all = [
                PendingApp(app: .default, dueAt: 10), PendingApp(app: other, dueAt: 5),
                PendingApp(app: third, dueAt: .max),
            ]
            #expect(try transaction.pendingApps(after: AppKey(rawValue: 0), limit: 9) == all)
            #expect(try transaction.pendingApps(after: AppKey(rawValue: 0), limit: 1) == Array(all.prefix(1)))
            #expect(try transaction.pendingApps(after: .default, limit: 1) == [all[1]])
            #expect(try transaction.pendingApps(after: third, limit: 9).isEmpty)
        }
    }

    @Test("the scheduled events that events of the log have replaced are found", arguments: StoreKind.allCases)
    func replaced(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let ofSource = Event("a.b", id: "q", attributes: [KeyValue("source", "/a")])
        let another = Event("a.b", id: "s", attributes: [KeyValue("source", "/a")])
        try add(
            fixture,
            [(Event(id: "a"), 1), (Event(id: "b", app: other), 2), (ofSource, 3), (another, 4), (Event(id: "z"), 5)])
        try fixture.append(
            [Event(id: "a"), Event(id: "b"), ofSource.qualified(), Event(id: "s"), Event(id: "z")])
        try fixture.transaction { (transaction) throws(StoreError) in
            let found = try transaction.replacedPending(in: 1...4)
            let a = try transaction.pending(app: .default, id: "a")
            let q = try transaction.pending(app: .default, id: "q")
            let all = [a, q].compactMap { $0 }.map {
                ReplacedEvent(key: $0.key, app: .default, bytes: Int64($0.event.storedBytes))
            }
            #expect(all.count == 2 && found == Set(all))
        }
    }

    @Test("an id is scheduled once in an app", arguments: StoreKind.allCases)
    func unique(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try add(fixture, [(Event(id: "a"), 1)])
        #expect(failure { try add(fixture, [(Event(id: "a"), 2)]) } != nil)
        #expect(try due(fixture, at: 9).map(\.pending.dueAt) == [1])
    }

    @Test("a list has pages of one app, without events whose id is in the log", arguments: StoreKind.allCases)
    func list(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try add(
            fixture,
            [
                (Event(id: "d", subject: "s"), 40), (Event(id: "a"), 10), (Event(id: "b"), 20), (Event(id: "c"), 20),
                (Event(id: "x", app: other), 5), (Event(id: "logged"), 15),
            ])
        try fixture.append([Event(id: "logged")])
        let reader = try fixture.store.makeReader()
        var query = PendingQuery(app: .default, limit: 2)
        let first = try reader.pending(query)
        #expect(first.map(\.event.id) == ["a", "b"])
        query.after = first.last.map { PendingQuery.Position(dueAt: $0.dueAt, key: $0.key) }
        #expect(try reader.pending(query).map(\.event.id) == ["c", "d"])
        query.after = nil
        query.subject = "s"
        #expect(try reader.pending(query).map(\.event.id) == ["d"])
        query.subject = nil
        query.limit = 9
        query.maxBytes = 1
        #expect(try reader.pending(query).map(\.event.id) == ["a"])
        #expect(try reader.pending(PendingQuery(app: other, limit: 9)).map(\.event.id) == ["x"])
    }

    @Test("the events of a subject or an app are removed in slices", arguments: StoreKind.allCases)
    func removal(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try add(fixture, (1...5).map { (Event(id: "e\($0)", subject: $0 < 4 ? "user:4" : "user:42"), 9) })
        try add(fixture, [(Event(id: "e1", subject: "user:4", app: other), 9)])
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.pending(about: "user:4", app: .default, limit: 2).count == 2)
            let found = try transaction.pending(about: "user:4", app: .default, limit: 9)
            #expect(found.map(\.event.id).sorted() == ["e1", "e2", "e3"])
            #expect(try transaction.pending(about: "user:", app: .default, limit: 9).isEmpty)
            #expect(try transaction.removePending(of: .default, limit: 3) == 3)
            #expect(try transaction.removePending(of: .default, limit: 3) == 2)
            #expect(try transaction.removePending(of: .default, limit: 3) == 0)
        }
        #expect(try due(fixture, at: 9).map(\.pending.event.app) == [other])
    }

    @Test("counts are recovered, without those of 0", arguments: StoreKind.allCases)
    func counts(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        #expect(try fixture.restart().pending == [])
        let counts = [PendingCount(app: .default, events: 3, bytes: 40), PendingCount(app: other, events: 1, bytes: 2)]
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.setPendingCount(PendingCount(app: .default, events: 9, bytes: 9))
            for count in counts { try transaction.setPendingCount(count) }
            try transaction.setPendingCount(PendingCount(app: AppKey(rawValue: 3)))
        }
        #expect(try fixture.restart().pending == counts)
        guard kind != .sqlite else { return }
        let rows = try fixture.store.makeReader().rows(of: [.pending(other), .pending(AppKey(rawValue: 3))])
        #expect(rows.pending == [counts[1]])
    }

    @Test(
        "refused events are kept with their reason, newest first, until they are removed", arguments: StoreKind.allCases
    )
    func refused(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        func refused(_ id: String, _ subject: String?, _ app: AppKey) -> RefusedEvent {
            RefusedEvent(
                Submission(
                    key: 0, app: app, id: id, type: "a.b", subject: subject, time: 5, data: [255, 0],
                    deliverAt: subject == nil ? nil : 7),
                reason: "why \(id)", refusedAt: 9)
        }
        try fixture.transaction { (transaction) throws(StoreError) in
            for event in [
                refused("a", "s", .default), refused("b", nil, .default), refused("c", "s", other),
                refused("d", "t", .default),
            ] {
                try transaction.addRefused(event)
            }
            #expect(try transaction.removeSubmissions([1, 2]).isEmpty)
            #expect(try transaction.removeSubmissions(about: nil, app: .default, limit: 9) == 0)
        }
        _ = try fixture.restart()
        let reader = try fixture.store.makeReader()
        #expect(try reader.submissions(after: .default, limit: 9, maxBytes: 99).isEmpty)
        let found = try reader.refused(.default, before: .max, limit: 2)
        #expect(found.map(\.submission.id) == ["d", "b"] && found.map(\.reason) == ["why d", "why b"])
        #expect(found.map(\.submission.deliverAt) == [7, nil] && found[0].submission.data == [255, 0])
        let rest = try reader.refused(.default, before: found[1].submission.key, limit: 2)
        #expect(rest.map(\.submission.id) == ["a"] && rest[0].submission.subject == "s" && rest[0].refusedAt == 9)
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.removeRefused(about: "s", app: .default, limit: 9) == 1)
            #expect(try transaction.removeRefused(about: nil, app: .default, limit: 1) == 1)
            #expect(try transaction.removeRefused(about: nil, app: .default, limit: 9) == 1)
        }
        #expect(try fixture.store.makeReader().refused(.default, before: .max, limit: 9).isEmpty)
        #expect(try fixture.store.makeReader().refused(other, before: .max, limit: 9).map(\.submission.id) == ["c"])
    }

    @Test(
        "beyond the limit of refused events the app with most loses its oldest, and no other app",
        arguments: StoreKind.allCases)
    func refusedLimit(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.transaction { (transaction) throws(StoreError) in
            for number in 1...RefusedEvent.limit + 3 {
                let submission = Submission(
                    key: 0, app: number <= 2 ? other : .default, id: "\(number)", type: "a.b", subject: nil, time: 5,
                    data: [0], deliverAt: nil)
                try transaction.addRefused(RefusedEvent(submission, reason: "", refusedAt: 9))
            }
        }
        for _ in 1...2 {
            try fixture.transaction { (transaction) throws(StoreError) in try transaction.trimRefused() }
            let reader = try fixture.store.makeReader()
            #expect(try reader.refused(other, before: .max, limit: 9).map(\.submission.id) == ["2", "1"])
            let kept = try reader.refused(.default, before: .max, limit: .max).map(\.submission.id)
            #expect(kept.count == Int(RefusedEvent.limit) - 2 && kept.last == "6")
        }
    }
}
