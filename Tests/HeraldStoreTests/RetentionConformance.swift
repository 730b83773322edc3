import HeraldModel
import HeraldTestSupport
import Testing

@Suite("Retention in every store")
struct RetentionConformance {
    private func mark(_ sequence: LogPosition, _ time: Int64) -> LogMark { LogMark(sequence: sequence, time: time) }

    private func add(_ fixture: StoreFixture, _ marks: LogMark...) throws {
        try fixture.transaction { (transaction) throws(StoreError) in
            for mark in marks { try transaction.addMark(mark) }
        }
    }

    private func remove(_ fixture: StoreFixture, through sequence: LogPosition, limit: Int = 500) throws -> LogPosition
    {
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.removeEvents(1...max(1, sequence), limit: sequence < 1 ? 0 : limit).first
        }
    }

    @Test("retention sees how far deliveries have come", arguments: StoreKind.allCases)
    func progress(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...9).map { Event(id: "e\($0)") })
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2))
        let replay = try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.addReplay(delegate: 2, after: 1, until: 3, at: 5)
        }
        try fixture.write {
            $0.settled = 8
            $0.lanes = [LanePosition(delegate: 1, cursor: 3, position: 4)]
            $0.waiting = [
                WaitingDelivery(delegate: 1, event: 2, attempts: 1, dueAt: 5, state: .retrying),
                WaitingDelivery(delegate: 2, event: 2, attempts: 1, dueAt: 5, state: .retrying),
                WaitingDelivery(delegate: 2, event: 3, attempts: 1, dueAt: 5, state: .exhausted),
                WaitingDelivery(delegate: 2, event: 6, attempts: 1, dueAt: 5, state: .retrying),
            ]
        }
        let reader = try fixture.store.makeReader()
        var expected = DeliveryProgress()
        expected.settled = SettledPositions(8)
        expected.lanes = [LanePosition(delegate: 1, cursor: 3, position: 4)]
        expected.replays = [replay]
        #expect(try reader.progress() == expected)
        #expect(try reader.waitingEvents(in: 1...9) == [2, 6])
        #expect(try reader.waitingEvents(in: 3...5).isEmpty)
    }

    @Test(
        "events in the middle are removed, and pages, lists and searches pass over the gap",
        arguments: StoreKind.allCases)
    func gaps(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.append((1...12).map { Event(id: "e\($0)", subject: "s", time: Int64($0)) })
        func cut(_ range: ClosedRange<LogPosition>, limit: Int = 500) throws -> RemovedEvents {
            try fixture.transaction { (transaction) throws(StoreError) in
                try transaction.removeEvents(range, limit: limit)
            }
        }
        #expect(try cut(3...4) == RemovedEvents(count: 2, through: 4, first: 1))
        #expect(try cut(6...8, limit: 2) == RemovedEvents(count: 2, through: 7, first: 1))
        #expect(try cut(8...8) == RemovedEvents(count: 1, through: 8, first: 1))
        #expect(try cut(8...8).count == 0, "it is removed already")
        let recovery = try fixture.restart()
        #expect((recovery.first, recovery.head) == (1, 12))
        let reader = try fixture.store.makeReader()
        func page(_ after: LogPosition) throws -> [LogPosition] {
            let batch = try reader.events(after: after, limit: 9, maxBytes: 999)
            return batch.events.indices.map { batch.first + LogPosition($0) }
        }
        #expect(try [0, 2, 3, 5, 6].map(page) == [[1, 2], [5], [5], [9, 10, 11, 12], [9, 10, 11, 12]])
        #expect(try reader.events(EventQuery()).map(\.sequence) == [12, 11, 10, 9, 5, 2, 1])
        #expect(try reader.sequences(about: "s", app: .default, after: 2, limit: 2) == [5, 9])
        #expect(try reader.event(app: .default, id: "e4") == nil)
        #expect(try reader.eventSizes(after: 1, through: 10, limit: 3).map(\.position) == [2, 5, 9])
        #expect(
            try reader.eventSizes(after: 0, through: 1, limit: 3).map(\.bytes) == [
                Event(id: "e1", subject: "s").storedBytes
            ])
        // The first event goes, and with it the gap that follows.
        #expect(try cut(1...2) == RemovedEvents(count: 2, through: 2, first: 5))
        #expect(try cut(1...5) == RemovedEvents(count: 1, through: 5, first: 9))
        #expect(try cut(1...5) == RemovedEvents(count: 0, through: 5, first: 9), "another process has removed them")
        #expect(try fixture.restart().first == 9)
    }

    @Test("a row that was written after the removal of its event goes with the next one", arguments: StoreKind.allCases)
    func rowsBeforeLog(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...9).map { Event(id: "e\($0)") })
        try fixture.set(WebhookDelegate(1))
        #expect(try remove(fixture, through: 2) == 3)
        try fixture.write {
            $0.waiting = [1, 5].map { event in
                WaitingDelivery(delegate: 1, event: event, attempts: 1, dueAt: 5, state: .dropped)
            }
        }
        #expect(try remove(fixture, through: 3) == 4)
        let reader = try fixture.store.makeReader()
        #expect(try reader.waiting(event: 1).isEmpty)
        #expect(try reader.waiting(event: 5).count == 1)
    }

    @Test("an event stays while a delivery of it waits, and so does the row", arguments: StoreKind.allCases)
    func waitingDelivery(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...9).map { Event(id: "e\($0)") })
        try fixture.set(WebhookDelegate(1))
        func cut(_ range: ClosedRange<LogPosition>) throws -> RemovedEvents {
            try fixture.transaction { (transaction) throws(StoreError) in
                try transaction.removeEvents(range, limit: 500)
            }
        }
        #expect(try remove(fixture, through: 1) == 2)
        // The event of the first one was removed before.
        try fixture.write {
            $0.waiting = [1, 4].map { event in
                WaitingDelivery(delegate: 1, event: event, attempts: 1, dueAt: 5, state: .retrying)
            }
        }
        #expect(try cut(1...6) == RemovedEvents(count: 2, through: 4, first: 4))
        #expect(try cut(4...6) == RemovedEvents(count: 0, through: 4, first: 4))
        #expect(try cut(5...6) == RemovedEvents(count: 2, through: 6, first: 4))
        #expect(try fixture.restart().waiting.map(\.event).sorted() == [1, 4])
    }

    @Test("marks show which events arrived before a time", arguments: StoreKind.allCases)
    func lastBefore(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...9).map { Event(id: "e\($0)") })
        #expect(try fixture.restart().lastMark == nil)
        let reader = try fixture.store.makeReader()
        #expect(try reader.lastEvent(before: .max) == 0)
        try add(fixture, mark(2, 100), mark(7, 200))
        #expect(try reader.lastEvent(before: 100) == 0)
        #expect(try reader.lastEvent(before: 101) == 2)
        #expect(try reader.lastEvent(before: 200) == 2)
        #expect(try reader.lastEvent(before: .max) == 7)
        #expect(try reader.lastEvent() == 9)
    }

    @Test("the newest mark survives a restart", arguments: StoreKind.allCases)
    func lastMark(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try add(fixture, mark(2, 100), mark(7, 200))
        #expect(try fixture.restart().lastMark == mark(7, 200))
    }

    @Test(
        "the first event since a time is found by the marks, and between them by its own time",
        arguments: StoreKind.allCases)
    func since(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let reader = try fixture.store.makeReader()
        #expect(try reader.sequence(since: 0) == 1, "an empty log")
        // The fourth brings a time of its own, long ago; the seventh one far ahead.
        let times: [Int64] = [10, 20, 110, 5, 150, 190, 9000, 250]
        try fixture.append(times.enumerated().map { Event(id: "e\($0.offset)", time: $0.element) })
        #expect(try reader.sequence(since: 20) == 2)
        try add(fixture, mark(2, 100), mark(6, 200))
        for (time, sequence) in [
            (0, 1), (20, 2), (21, 3), (101, 3), (111, 5), (160, 6), (195, 7), (200, 7), (201, 7), (9001, 9),
        ] as [(Int64, LogPosition)] {
            #expect(try reader.sequence(since: time) == sequence, "\(time)")
        }
        #expect(try remove(fixture, through: 4) == 5)
        #expect(try reader.sequence(since: 0) == 5)
    }

    @Test("an event is found by the time of its acceptance, whatever time it brings", arguments: StoreKind.allCases)
    func accepted(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let reader = try fixture.store.makeReader()
        let start: Int64 = 1_760_000_000_000
        let future: Int64 = 4_070_908_800_000
        func named(_ time: Int64) -> String { ULIDGenerator.text("evt_", time: time, high: 1, low: 1) }
        // Each 20 s after the one before. Only the server's ids tell when; the fourth and the sixth are named by publishers.
        let events: [(id: String, time: Int64)] = [
            (named(start), start), (named(start + 20_000), future), (named(start + 40_000), start + 40_000),
            ("own", start - 86_400_000), (named(start + 80_000), start + 80_000), ("late", future),
        ]
        try add(fixture, mark(0, start - 1))
        try fixture.append(events.map { Event(id: $0.id, time: $0.time) })
        for (offset, since, through) in [
            (0, 1, 1), (1, 2, 1), (20_000, 2, 2), (20_001, 3, 2), (40_001, 4, 4), (80_000, 4, 6), (80_001, 6, 6),
        ] as [(Int64, LogPosition, LogPosition)] {
            #expect(try reader.sequence(since: start + offset) == since, "\(offset)")
            #expect(try reader.lastEvent(through: start + offset) == through, "\(offset)")
        }
        #expect(try reader.lastEvent(through: .max) == 6 && reader.sequence(since: .min) == 1)
        // From here on the last one is known to be older.
        try add(fixture, mark(6, start + 110_000))
        #expect(try reader.sequence(since: start + 110_001) == 7)
        #expect(try reader.sequence(since: start + 100_000) == 6)
        #expect(try reader.sequence(since: future) == 7, "nothing is accepted in the future")
    }

    @Test(
        "the oldest events are removed in slices, with the rows of ended deliveries, and never the newest",
        arguments: StoreKind.allCases)
    func events(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2))
        #expect(try remove(fixture, through: 5) == 1, "an empty log")
        try fixture.append((1...6).map { Event(id: "e\($0)") })
        try fixture.write {
            $0.settled = 6
            $0.attempts = [attempt(1, 1), attempt(1, 2)]
            $0.waiting = [
                WaitingDelivery(delegate: 1, event: 2, attempts: 1, dueAt: 5, state: .dropped),
                WaitingDelivery(delegate: 2, event: 3, attempts: 1, dueAt: 6, state: .exhausted),
                WaitingDelivery(delegate: 1, event: 4, attempts: 1, dueAt: 7, state: .retrying),
            ]
        }
        #expect(try remove(fixture, through: 0) == 1)
        #expect(try remove(fixture, through: 3, limit: 2) == 3)
        #expect(try remove(fixture, through: 3, limit: 2) == 4)
        #expect(try remove(fixture, through: 3, limit: 2) == 4)
        let recovery = try fixture.restart()
        #expect(recovery.first == 4)
        #expect(recovery.head == 6)
        #expect(recovery.waiting.map(\.event) == [4])
        let reader = try fixture.store.makeReader()
        #expect(try reader.firstEvent() == 4)
        #expect(try reader.event(app: .default, id: "e3") == nil)
        #expect(try reader.countDeliveries(DeliveryQuery([.exhausted])) == 0)
        #expect(try reader.attempts(event: 1).count == 1, "attempts go by their own age")
        let batch = try reader.events(after: 0, limit: 9, maxBytes: 999)
        #expect(batch.first == 4)
        #expect(batch.events.map(\.id) == ["e4", "e5", "e6"])
        #expect(try reader.events(after: 5, limit: 9, maxBytes: 999).first == 6)
        #expect(try reader.events(EventQuery()).map(\.sequence) == [6, 5, 4])

        try fixture.write { $0.ended = [DeliveryKey(delegate: 1, event: 4)] }
        #expect(try remove(fixture, through: .max, limit: .max) == 6)
        try fixture.append([Event(id: "e3")])
        #expect(try fixture.restart().head == 7, "the id is free again, the numbers go on")
    }

    @Test("of the marks before the first event, the last one stays", arguments: StoreKind.allCases)
    func marks(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...9).map { Event(id: "e\($0)", time: 0) })
        try add(fixture, mark(1, 100), mark(3, 200), mark(5, 300))
        #expect(try remove(fixture, through: 4) == 5)
        let reader = try fixture.store.makeReader()
        #expect(try reader.lastEvent(before: 150) == 0)
        #expect(try reader.lastEvent(before: 250) == 3)
        #expect(try remove(fixture, through: 8) == 9)
        #expect(try reader.lastEvent(before: 299) == 0)
        #expect(try fixture.restart().lastMark == mark(5, 300))
    }

    @Test("old attempts are removed, the first recorded first, and never the newest", arguments: StoreKind.allCases)
    func attempts(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        func remove(before time: Int64, limit: Int) throws -> Int {
            try fixture.transaction { (transaction) throws(StoreError) in
                try transaction.removeAttempts(before: time, limit: limit)
            }
        }
        func left() throws -> [Int64] { try fixture.store.makeReader().attempts(event: 1).map(\.record.startedAt) }
        #expect(try remove(before: .max, limit: 9) == 0)
        try fixture.write { $0.attempts = [10, 30, 20, 40, 50].map { attempt(1, 1, startedAt: $0) } }
        #expect(try remove(before: 10, limit: 9) == 0)
        #expect(try remove(before: 30, limit: 1) == 1)
        #expect(try left() == [30, 20, 40, 50])
        #expect(try remove(before: 30, limit: 9) == 1)
        #expect(try left() == [30, 40, 50])
        #expect(try remove(before: .max, limit: 9) == 2)
        #expect(try left() == [50])
        let ids = try fixture.store.makeReader().attempts(event: 1).map(\.id)
        _ = try fixture.restart()
        try fixture.write { $0.attempts = [attempt(1, 2)] }
        #expect(try fixture.store.makeReader().attempts(event: 2)[0].id > ids[0])
    }

    @Test("attempts are removed by their ids, the oldest first, and never the newest", arguments: StoreKind.allCases)
    func attemptsByID(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        func remove(through id: Int64, limit: Int) throws -> Int {
            try fixture.transaction { (transaction) throws(StoreError) in
                try transaction.removeAttempts(through: id, limit: limit).count
            }
        }
        let reader = try fixture.store.makeReader()
        #expect(try reader.sizes().lastAttempt == 0 && reader.sizes().attempts == 0)
        #expect(try remove(through: 9, limit: 9) == 0)
        try fixture.write { $0.attempts = (1...6).map { attempt(1, $0) } }
        // Ids need not begin at 1.
        let zero = try #require(try reader.attempts(after: 0, limit: 1).first).id - 1
        #expect(try reader.sizes().firstAttempt == zero + 1 && reader.sizes().lastAttempt == zero + 6)
        #expect(try remove(through: zero + 3, limit: 2) == 2 && remove(through: zero + 3, limit: 2) == 1)
        #expect(try remove(through: zero + 3, limit: 2) == 0)
        #expect(try reader.sizes().firstAttempt == zero + 4)
        #expect(try remove(through: zero + 9, limit: 9) == 2)
        #expect(try reader.sizes().firstAttempt == zero + 6)
    }

    @Test("the bytes of removed attempts count as those of recorded ones do", arguments: StoreKind.allCases)
    func attemptBytes(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let records = [("", 0), ("refused: Ü", 0), ("", 300), ("timeout", 1_024), ("", 0)].map { detail, length in
            AttemptRecord(
                delegate: 1, event: 1, number: 1, startedAt: 0, duration: 1, status: 200, failure: nil, detail: detail,
                excerpt: Array(repeating: 7, count: length))
        }
        try fixture.write { $0.attempts = records }
        let removed = try fixture.transaction { (transaction) throws(StoreError) in
            try (0..<3).map { _ throws(StoreError) in try transaction.removeAttempts(through: .max, limit: 2) }
        }
        #expect(removed.map(\.count) == [2, 2, 0], "the newest stays")
        #expect(removed[0].bytes == records[..<2].reduce(0) { $0 + Int64($1.storedBytes) })
        #expect(removed[1].bytes == records[2..<4].reduce(0) { $0 + Int64($1.storedBytes) })
    }

    @Test("what was removed is counted for good, and so is what was not announced yet", arguments: StoreKind.allCases)
    func removals(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2))
        func counts() throws -> [String: Int] {
            let found = try fixture.store.makeReader().removals()
            return Dictionary(uniqueKeysWithValues: found.map { ("\($0.part) \($0.cause)", $0.count) })
        }
        #expect(try counts().isEmpty)
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.count(Removal(.events, .size, count: 500))
            try transaction.count(Removal(.events, .size, count: 7))
            try transaction.count(Removal(.attempts, .age, count: 3))
        }
        try fixture.write {
            $0.missed = [Removal(.deliveries, .size, count: 2), Removal(.deliveries, .age, count: 1)]
            $0.unannounced = [1: 2, 2: 4, 3: 9]
        }
        try fixture.write { $0.unannounced = [2: 0] }
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.unannounced(of: 1) == 2)
            #expect(try transaction.unannounced(of: 2) == 0)
        }
        #expect(try fixture.restart().unannounced == [1: 2], "delegate 3 does not exist")
        #expect(try counts() == ["events size": 507, "attempts age": 3, "deliveries size": 2, "deliveries age": 1])
        try fixture.transaction { (transaction) throws(StoreError) in try transaction.removeDelegate(1, at: 5) }
        #expect(try fixture.restart().unannounced.isEmpty)
    }

    @Test("the size follows the content", arguments: StoreKind.allCases)
    func size(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let data = "\"" + String(repeating: "x", count: 20_000) + "\""
        try fixture.append((1...50).map { Event(id: "e\($0)", data: data) })
        let reader = try fixture.store.makeReader()
        let full = try reader.sizes().used
        #expect(full > 1_000_000)
        #expect(try remove(fixture, through: 25) == 26)
        let half = try reader.sizes().used
        #expect(half < full - 450_000)
        try fixture.append((51...70).map { Event(id: "e\($0)", data: data) })
        #expect(try reader.sizes().used > half + 350_000)
    }
}
