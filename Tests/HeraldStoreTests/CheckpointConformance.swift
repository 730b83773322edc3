import HeraldModel
import HeraldTestSupport
import Testing

@Suite("The checkpoints of every store")
struct CheckpointConformance {
    @Test("positions and retries survive a restart", arguments: StoreKind.allCases)
    func positions(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.append((1...9).map { Event(id: "e\($0)", subject: $0 == 1 ? "order:1" : nil) })
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2), WebhookDelegate(3))
        let late = WaitingDelivery(delegate: 1, event: 2, attempts: 3, dueAt: 900, state: .retrying)
        let soon = { () -> WaitingDelivery in
            var row = WaitingDelivery(
                delegate: 2, event: 1, attempts: 5, dueAt: 800, state: .retrying, isReplay: true, uncounted: 3,
                subject: "order:1")
            row.isFirst = true
            return row
        }()
        let given = WaitingDelivery(delegate: 2, event: 3, attempts: 9, dueAt: 700, state: .exhausted)
        try fixture.write {
            $0.settled = 4
            $0.waiting = [late, soon, given]
            $0.lanes = [
                LanePosition(delegate: 3, cursor: 8, position: 9), LanePosition(delegate: 2, cursor: 1, position: 3),
            ]
        }
        var recovery = try fixture.restart()
        #expect(recovery.settled == 4)
        #expect(Set(recovery.waiting.map(\.event)) == [soon.event, late.event] && recovery.waiting.contains(late))
        #expect(recovery.waiting.first { $0.event == soon.event }?.isFirst == true)
        #expect(
            recovery.lanes == [
                LanePosition(delegate: 2, cursor: 1, position: 3), LanePosition(delegate: 3, cursor: 8, position: 9),
            ])
        let reader = try fixture.store.makeReader()
        #expect(try reader.progress().lanes == recovery.lanes)
        #expect(try reader.waiting(event: 3) == [given])

        let again = WaitingDelivery(delegate: 1, event: 2, attempts: 4, dueAt: 950, state: .retrying, uncounted: 2)
        try fixture.write {
            $0.waiting = [again]
            $0.ended = [DeliveryKey(delegate: 2, event: 1), DeliveryKey(delegate: 9, event: 9)]
            $0.lanes = [LanePosition(delegate: 3, cursor: 9, position: 9)]
            $0.caughtUp = [2]
        }
        recovery = try fixture.restart()
        #expect(recovery.settled == 4, "nil leaves it as it was")
        #expect(recovery.waiting == [again])
        #expect(recovery.lanes == [LanePosition(delegate: 3, cursor: 9, position: 9)])
    }

    @Test(
        "a row says whether it was requested, whether by name, and whether it is handed out alone",
        arguments: StoreKind.allCases)
    func forms(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        var rows: [WaitingDelivery] = []
        for (isReplay, isNamed) in [(false, false), (true, false), (true, true)] {
            for isAlone in [false, true] {
                var row = WaitingDelivery(
                    delegate: 1, event: LogPosition(rows.count + 1), attempts: 1, dueAt: 900, state: .retrying,
                    isReplay: isReplay, isNamed: isNamed)
                row.isAlone = isAlone
                rows.append(row)
            }
        }
        try fixture.append((1...rows.count).map { Event(id: "e\($0)") })
        try fixture.set(WebhookDelegate(1))
        try fixture.write { $0.waiting = rows }
        let found = try fixture.restart().waiting.sorted { $0.event < $1.event }
        #expect(found == rows)
    }

    @Test("recovery returns what is decided beyond each lane's cursor, and nothing else", arguments: StoreKind.allCases)
    func decided(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...9).map { Event(id: "e\($0)") })
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2), WebhookDelegate(3))
        try fixture.write {
            $0.settled = 5
            // 2 is behind, 3 ahead, 1 at the common position.
            $0.lanes = [
                LanePosition(delegate: 2, cursor: 1, position: 4), LanePosition(delegate: 3, cursor: 7, position: 9),
            ]
            $0.attempts = [
                attempt(1, 5), attempt(1, 6, status: 500), attempt(1, 6, number: 2), attempt(1, 7, status: 301),
                attempt(1, 9, status: nil, failure: .timeout),
                attempt(2, 1), attempt(2, 3), attempt(2, 3, number: 2),
                attempt(3, 6), attempt(3, 9, status: 204),
            ]
            $0.waiting = [
                WaitingDelivery(delegate: 1, event: 4, attempts: 1, dueAt: 1, state: .retrying),
                WaitingDelivery(delegate: 1, event: 7, attempts: 1, dueAt: 1, state: .retrying),
                WaitingDelivery(delegate: 1, event: 8, attempts: 1, dueAt: 1, state: .exhausted),
                WaitingDelivery(delegate: 2, event: 4, attempts: 1, dueAt: 1, state: .exhausted),
                WaitingDelivery(delegate: 3, event: 8, attempts: 1, dueAt: 1, state: .retrying),
            ]
        }
        let decided = try fixture.restart().decided
        #expect(Set(decided).count == decided.count, "each once")
        let expected: [(DelegateKey, LogPosition)] = [(1, 6), (1, 7), (1, 8), (2, 3), (2, 4), (3, 8), (3, 9)]
        #expect(Set(decided) == Set(expected.map { DeliveryKey(delegate: $0.0, event: $0.1) }))
    }

    @Test("attempts that were written ahead of the position of their lane are decided", arguments: StoreKind.allCases)
    func part(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...9).map { Event(id: "e\($0)") })
        try fixture.set(WebhookDelegate(1))
        try fixture.write {
            $0.settled = 3
            $0.lanes = [LanePosition(delegate: 1, cursor: 1, position: 3)]
        }
        try fixture.write { $0.attempts = [attempt(1, 3), attempt(1, 5), attempt(1, 6, status: 500)] }
        #expect(Set(try fixture.restart().decided) == Set([3, 5].map { DeliveryKey(delegate: 1, event: $0) }))
    }

    @Test("so are the rows that were written with them, whatever the order", arguments: StoreKind.allCases)
    func partWithRows(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...9).map { Event(id: "e\($0)") })
        let delegates: [DelegateKey] = [1, 2, 3]
        try fixture.set(
            WebhookDelegate(1) { $0.ordering = .strict }, WebhookDelegate(2) { $0.ordering = .subject },
            WebhookDelegate(3) { $0.ordering = .strict })
        try fixture.write {
            $0.settled = 3
            // 3 is at the common position.
            $0.lanes = delegates.prefix(2).map { LanePosition(delegate: $0, cursor: 3, position: 3) }
        }
        try fixture.write {
            $0.attempts = delegates.flatMap { [attempt($0, 5, status: 500), attempt($0, 6)] }
            $0.waiting = delegates.map {
                WaitingDelivery(delegate: $0, event: 5, attempts: 1, dueAt: 1, state: .exhausted)
            }
        }
        let decided = try fixture.restart().decided
        let expected = delegates.flatMap { delegate in
            ([5, 6] as [LogPosition]).map { DeliveryKey(delegate: delegate, event: $0) }
        }
        #expect(Set(decided) == Set(expected), "5 was exhausted, and must not arrive after 6")
    }

    @Test(
        "outcomes that were written ahead of the positions are decided for every reader",
        arguments: StoreKind.shared)
    func ahead(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...9).map { Event(id: "e\($0)") })
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2), WebhookDelegate(3))
        try fixture.write {
            $0.settled = 3
            // 2 is behind, and 3 was ahead.
            $0.lanes = [
                LanePosition(delegate: 2, cursor: 1, position: 2), LanePosition(delegate: 3, cursor: 4, position: 4),
            ]
        }
        try fixture.write {
            $0.attempts = [attempt(1, 5), attempt(2, 2), attempt(2, 6), attempt(2, 7, status: 500)]
            $0.waiting = [WaitingDelivery(delegate: 2, event: 7, attempts: 1, dueAt: 1, state: .retrying)]
        }
        try fixture.write { $0.attempts = [attempt(3, 8), attempt(2, 9, status: 500)] }
        var expected: [(DelegateKey, LogPosition)] = [(1, 5), (2, 2), (2, 6), (2, 7), (3, 8)]
        #expect(Set(try fixture.restart().decided) == Set(expected.map { DeliveryKey(delegate: $0.0, event: $0.1) }))

        // Another process takes the shard of 2, and writes its positions; 3 is still ahead.
        try fixture.write {
            ($0.settled, $0.shards) = (3, Shards(of: 2))
            $0.lanes = [LanePosition(delegate: 2, cursor: 2, position: 7)]
        }
        expected.removeAll { $0 == (2, 2) }
        #expect(Set(try fixture.restart().decided) == Set(expected.map { DeliveryKey(delegate: $0.0, event: $0.1) }))

        try fixture.write {
            $0.settled = 9
            $0.caughtUp = [2, 3]
        }
        #expect(try fixture.restart().decided.isEmpty)
    }

    @Test("each shard is recovered with its own lanes", arguments: StoreKind.allCases)
    func shards(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...9).map { Event(id: "e\($0)") })
        let (one, two) = (Shards(of: 1), Shards(of: 2))
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2), WebhookDelegate(65), WebhookDelegate(66))
        try fixture.transaction { (transaction) throws(StoreError) in
            for delegate in [65, 66] as [DelegateKey] {
                _ = try transaction.addReplay(delegate: delegate, after: 1, until: 2, at: 5)
            }
        }
        try fixture.write {
            ($0.settled, $0.shards) = (8, one)
            $0.lanes = [
                LanePosition(delegate: 65, cursor: 3, position: 5), LanePosition(delegate: 66, cursor: 2, position: 9),
            ]
            $0.attempts = [attempt(1, 7), attempt(1, 8), attempt(1, 9), attempt(2, 8), attempt(65, 5), attempt(66, 4)]
            $0.waiting = [
                WaitingDelivery(delegate: 1, event: 6, attempts: 1, dueAt: 1, state: .retrying),
                WaitingDelivery(delegate: 66, event: 8, attempts: 1, dueAt: 1, state: .retrying),
            ]
            $0.unannounced = [1: 3, 2: 4]
        }
        try fixture.write { ($0.settled, $0.shards) = (5, Shards.all.subtracting(one)) }
        _ = try fixture.restart()
        #expect(try fixture.store.makeReader().progress().settled.earliest() == 5)

        let first = try fixture.store.recover(one)
        // Where a store has one position for all, the attempts tell the rest.
        #expect((5...8).contains(first.settled[1]))
        #expect(Set(first.decided.filter { $0.delegate == 1 }.map(\.event)) == Set((first.settled[1] + 1)...9))
        #expect(first.lanes.map(\.delegate) == [65] && first.waiting.map(\.delegate) == [1])
        #expect(first.decided.contains(DeliveryKey(delegate: 65, event: 5)))
        #expect(first.decided.allSatisfy { one.contains($0.delegate) })
        #expect(first.replays.map(\.delegate) == [65] && first.unannounced == [1: 3])

        let second = try fixture.store.recover(two)
        #expect(second.settled[2] == 5)
        #expect(second.lanes.map(\.delegate) == [66] && second.waiting.map(\.delegate) == [66])
        #expect(
            Set(second.decided) == [
                DeliveryKey(delegate: 2, event: 8), DeliveryKey(delegate: 66, event: 4),
                DeliveryKey(delegate: 66, event: 8),
            ])
        #expect(second.replays.map(\.delegate) == [66] && second.unannounced == [2: 4])
        let housekeeper = try fixture.store.recover(Shards(of: 0))
        #expect(housekeeper.replays.isEmpty && housekeeper.unannounced == [1: 3, 2: 4])
    }

    @Test("attempts are listed newest first for a delegate, oldest first for an event", arguments: StoreKind.allCases)
    func attempts(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: [Event(id: "a"), Event(id: "b")])
        let records = [
            attempt(1, 1, status: 503, excerpt: "try later"),
            attempt(2, 1, status: nil, failure: .tls, detail: "certificate expired"),
            attempt(1, 1, number: 2),
            attempt(1, 2, status: 199),
        ]
        try fixture.write { $0.attempts = records }
        let reader = try fixture.store.makeReader()
        func listed(_ change: (inout AttemptQuery) -> Void) throws -> [AttemptRecord] {
            var query = AttemptQuery(delegate: 1)
            change(&query)
            return try reader.attempts(query).map(\.record)
        }
        #expect(try listed { _ in } == [records[3], records[2], records[0]])
        #expect(try listed { $0.delegate = 2 } == [records[1]])
        #expect(try listed { $0.delegate = 3 } == [])
        #expect(try listed { $0.succeeded = true } == [records[2]])
        #expect(try listed { $0.succeeded = false } == [records[3], records[0]])
        #expect(try listed { $0.event = 1 } == [records[2], records[0]])
        #expect(try listed { ($0.event, $0.succeeded) = (1, false) } == [records[0]])

        var query = AttemptQuery(delegate: 1)
        query.limit = 2
        let page = try reader.attempts(query)
        #expect(page.map(\.record) == [records[3], records[2]])
        #expect(try listed { $0.before = page.last?.id } == [records[0]])
        #expect(try listed { ($0.before, $0.succeeded) = (page.last?.id, false) } == [records[0]])

        let ofEvent = try reader.attempts(event: 1)
        #expect(ofEvent.map(\.record) == [records[0], records[1], records[2]])
        #expect(ofEvent.map(\.id) == ofEvent.map(\.id).sorted())
        #expect(try reader.attempts(event: 1, limit: 2) == Array(ofEvent.suffix(2)))
    }

    @Test("the attempts of all delegates are read in the order of recording", arguments: StoreKind.allCases)
    func attemptLog(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let reader = try fixture.store.makeReader()
        #expect(try reader.lastAttempt() == 0)
        #expect(try reader.attempts(after: 0, limit: 9) == [])
        let records = [attempt(2, 1), attempt(1, 2, status: 500), attempt(1, 1), attempt(3, 2)]
        try fixture.write { $0.attempts = Array(records[..<3]) }
        try fixture.write { $0.attempts = Array(records[3...]) }
        let all = try reader.attempts(after: 0, limit: 9)
        #expect(all.map(\.record) == records)
        #expect(all.map(\.id) == all.map(\.id).sorted())
        #expect(try reader.lastAttempt() == all.last?.id)
        #expect(try reader.attempts(after: 0, limit: 2) == Array(all[..<2]))
        #expect(try reader.attempts(after: all[1].id, limit: 9) == Array(all[2...]))
        #expect(try reader.attempts(after: all[3].id, limit: 9) == [])
    }

    @Test("an attempt keeps its network data", arguments: StoreKind.allCases)
    func transport(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        var first = attempt(1, 1)
        first.transport.lookup = 1
        first.transport.connect = 2
        first.transport.tls = 3
        first.transport.firstByte = 4
        first.transport.peer = "[2001:db8::1]:443"
        first.transport.bytesSent = 5
        first.transport.bytesReceived = 6
        var second = attempt(1, 1, number: 2, excerpt: "ok")
        second.isReplay = true
        second.transport.isReused = true
        try fixture.write { $0.attempts = [first, second, attempt(1, 1, number: 3)] }
        let found = try fixture.store.makeReader().attempts(event: 1).map(\.record)
        #expect(found == [first, second, attempt(1, 1, number: 3)])
    }

    @Test("replays survive a restart, with their position, until they end", arguments: StoreKind.allCases)
    func replays(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...9).map { Event(id: "e\($0)") })
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2))
        let added = try fixture.transaction { (transaction) throws(StoreError) in
            let added = [
                try transaction.addReplay(delegate: 1, after: 0, until: 9, at: 70),
                try transaction.addReplay(delegate: 2, after: 3, until: 5, at: 80),
                try transaction.addReplay(delegate: 1, after: 4, until: 4, at: 90),
            ]
            #expect(try transaction.countReplays(1) == 2)
            return added
        }
        #expect(added[1] == Replay(id: added[1].id, delegate: 2, cursor: 3, until: 5, createdAt: 80))
        try fixture.write {
            $0.replays = [(added[0].id, 1, 6), (99, 1, 1)]
            $0.endedReplays = [(added[2].id, 1), (98, 1)]
        }
        var moved = added[0]
        moved.cursor = 6
        #expect(try fixture.restart().replays == [moved, added[1]])
        #expect(try fixture.store.makeReader().replays(1) == [moved])
        let next = try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.addReplay(delegate: 2, after: 0, until: 1, at: 100)
        }
        #expect(next.id > added[2].id, "no number is given twice")
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try !transaction.removeReplay(next.id, of: 1), "another delegate's")
            #expect(try transaction.removeReplay(next.id, of: 2))
            #expect(try !transaction.removeReplay(next.id, of: 2))
        }
        #expect(try fixture.restart().replays == [moved, added[1]])
    }

    @Test("statistics of a slot are added up", arguments: StoreKind.allCases)
    func statistics(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2))
        func slot(_ delegate: DelegateKey, _ start: Int64, _ failed: Int, _ latencies: Int64...) -> DeliveryStatistics {
            var slot = DeliveryStatistics(delegate: delegate, start: start, failed: failed)
            for latency in latencies { slot.count(succeeded: true, duration: latency) }
            return slot
        }
        try fixture.write { $0.statistics = [slot(1, 300, 1, 10, 2_000_000), slot(2, 300, 0, 1), slot(1, 0, 5)] }
        try fixture.write { $0.statistics = [slot(1, 300, 2, 10), slot(1, 600, 0, 7), slot(1, 300, 0, 11)] }
        _ = try fixture.restart()
        let reader = try fixture.store.makeReader()
        #expect(
            try reader.statistics(1, since: 0) == [
                slot(1, 0, 5), slot(1, 300, 3, 10, 2_000_000, 10, 11), slot(1, 600, 0, 7),
            ])
        #expect(try reader.statistics(1, since: 301) == [slot(1, 600, 0, 7)])
        func remove(before time: Int64) throws {
            try fixture.transaction { (transaction) throws(StoreError) in
                while try transaction.removeStatistics(before: time, limit: 1) > 0 {}
            }
        }
        // Past slots become a part of their hours, and hours are removed later.
        try remove(before: 600)
        let hour = slot(1, 0, 8, 10, 2_000_000, 10, 11)
        #expect(try reader.statistics(1, since: 0) == [hour, slot(1, 600, 0, 7)])
        #expect(try reader.statistics(2, since: 0) == [slot(2, 0, 0, 1)])
        try remove(before: DeliveryStatistics.lifetimeOfHours)
        #expect(try reader.statistics(2, since: 0) == [slot(2, 0, 0, 1)])
        try remove(before: DeliveryStatistics.lifetimeOfHours + 1)
        #expect(try reader.statistics(2, since: 0) == [])
    }

    @Test("volumes are added up by app, hour and type, and removed after a month", arguments: StoreKind.allCases)
    func volumes(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let hour = Volume.hour
        func volume(
            _ type: String, _ start: Int64, _ counts: (Int, Int, Int), app: AppKey = .default
        ) -> Volume {
            Volume(app: app, type: type, start: start, events: counts.0, delivered: counts.1, failed: counts.2)
        }
        let other = AppKey(rawValue: 2)
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.add([
                volume("a", 0, (1, 2, 3)), volume("b", 0, (4, 0, 0)), volume("a", hour, (0, 1, 0)),
                volume("a", hour, (9, 9, 9), app: other),
            ])
        }
        try fixture.transaction { (transaction) throws(StoreError) in try transaction.add([volume("a", 0, (10, 0, 1))])
        }
        let reader = try fixture.store.makeReader()
        func read(_ app: AppKey?, of type: String? = nil, _ slots: ClosedRange<Int64>) throws -> [Volume] {
            var query = VolumeQuery(slots)
            (query.app, query.type) = (app, type)
            return try reader.volumes(query)
        }
        #expect(try read(.default, 0...hour) == [volume("", 0, (15, 2, 4)), volume("", hour, (0, 1, 0))])
        #expect(try read(.default, of: "a", 0...hour) == [volume("a", 0, (11, 2, 4)), volume("a", hour, (0, 1, 0))])
        #expect(try read(other, 0...0) == [])
        #expect(try read(nil, hour...hour) == [volume("", hour, (9, 10, 9))])
        #expect(
            try reader.volumesByType(.default, in: 0...hour, limit: 9) == [
                volume("a", 0, (11, 3, 4)), volume("b", 0, (4, 0, 0)),
            ])
        #expect(try reader.volumesByType(.default, in: 0...hour, limit: 1).map(\.type) == ["a"])
        // Past slots become a part of their hours.
        let slot = DeliveryStatistics.slot
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.add([volume("a", slot, (1, 1, 1)), volume("b", hour + slot, (1, 0, 0))])
            while try transaction.removeStatistics(before: hour, limit: 1) > 0 {}
        }
        #expect(try read(.default, of: "a", 0...hour) == [volume("a", 0, (12, 3, 5)), volume("a", hour, (0, 1, 0))])
        #expect(try read(.default, of: "b", hour...2 * hour) == [volume("b", hour + slot, (1, 0, 0))])
        let time = Volume.lifetime - DeliveryStatistics.lifetime + 1
        try fixture.transaction { (transaction) throws(StoreError) in
            while try transaction.removeStatistics(before: time, limit: 1) > 0 {}
        }
        #expect(try read(nil, 0...hour).map(\.start) == [hour])
    }

    @Test("deliveries of a replay are not repeated by the lane", arguments: StoreKind.allCases)
    func decidedByReplay(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...5).map { Event(id: "e\($0)") })
        try fixture.set(WebhookDelegate(1))
        var replayed = attempt(1, 3)
        replayed.isReplay = true
        var failed = attempt(1, 2, status: 500)
        failed.isReplay = true
        try fixture.write {
            $0.lanes = [LanePosition(delegate: 1, cursor: 1, position: 5)]
            $0.attempts = [replayed, failed]
            $0.waiting = [
                WaitingDelivery(delegate: 1, event: 4, attempts: 0, dueAt: 1, state: .retrying, isReplay: true),
                WaitingDelivery(delegate: 1, event: 5, attempts: 2, dueAt: 1, state: .dropped),
            ]
        }
        let decided = try fixture.restart().decided
        #expect(Set(decided) == Set([3, 4, 5].map { DeliveryKey(delegate: 1, event: $0) }))
    }

    @Test(
        "replays and redeliveries far ahead of a lane are not decided, so that its row does not span the log",
        arguments: StoreKind.allCases)
    func replayedAhead(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.append((1...9).map { Event(id: "e\($0)") })
        try fixture.set(WebhookDelegate(1))
        try fixture.write { $0.lanes = [LanePosition(delegate: 1, cursor: 1, position: 1)] }
        var replayed = attempt(1, 5)
        replayed.isReplay = true
        var requestedAgain = WaitingDelivery(
            delegate: 1, event: 4, attempts: 0, dueAt: 1, state: .retrying, isReplay: true)
        requestedAgain.isFirst = true
        try fixture.write {
            $0.attempts = [replayed]
            $0.waiting = [
                WaitingDelivery(delegate: 1, event: 3, attempts: 1, dueAt: 1, state: .retrying), requestedAgain,
                WaitingDelivery(delegate: 1, event: 7, attempts: 0, dueAt: 1, state: .retrying, isReplay: true),
                WaitingDelivery(delegate: 1, event: 8, attempts: 1, dueAt: 1, state: .dropped, isReplay: true),
                WaitingDelivery(
                    delegate: 1, event: 9, attempts: 0, dueAt: 1, state: .retrying, isReplay: true, isNamed: true),
            ]
        }
        let found = try fixture.restart()
        #expect(Set(found.decided) == Set([3, 4].map { DeliveryKey(delegate: 1, event: $0) }))
        #expect(found.givenUp == [DeliveryKey(delegate: 1, event: 8)])
    }

    @Test("every kind of failure is stored", arguments: StoreKind.allCases)
    func failures(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let records = CallbackFailure.allCases.map { attempt(1, 1, status: nil, failure: $0, detail: $0.rawValue) }
        try fixture.write { $0.attempts = records }
        #expect(try fixture.store.makeReader().attempts(event: 1).map(\.record) == records)
    }
}
