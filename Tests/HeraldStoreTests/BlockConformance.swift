import HeraldModel
import HeraldTestSupport
import Testing

@Suite("Counts of each app in every store")
struct BlockConformance {
    private let other = AppKey(rawValue: 2)

    private func count(_ fixture: StoreFixture, _ block: Int64) throws -> [AppBlock] {
        try fixture.transaction { (transaction) throws(StoreError) in try transaction.countBlock(block) }
    }

    /// Returns the contents of the log, event by event.
    private func expected(_ fixture: StoreFixture) throws -> [AppBlock] {
        let batch = try fixture.store.makeReader().events(after: 0, limit: .max, maxBytes: .max)
        var found: [String: AppBlock] = [:]
        for (index, event) in batch.events.enumerated() {
            let block = AppBlock.number(of: batch.first + LogPosition(index))
            found["\(event.app) \(block)", default: AppBlock(app: event.app, block: block, events: 0, bytes: 0)]
                .events += 1
            found["\(event.app) \(block)"]?.bytes += Int64(event.storedBytes)
        }
        return sorted(Array(found.values))
    }

    private func sorted(_ blocks: [AppBlock]) -> [AppBlock] {
        blocks.sorted { ($0.block, $0.app.rawValue) < ($1.block, $1.app.rawValue) }
    }

    @Test("events and bytes of each app in each block survive a restart", arguments: StoreKind.allCases)
    func counting(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        #expect(try fixture.restart().blocks == [])
        try fixture.append(
            (1...2_600).map { number in
                Event(
                    id: "ü\(number)", subject: number % 7 == 0 ? "öffentlich" : nil,
                    attributes: number % 5 == 0 ? [KeyValue("source", "/ä"), KeyValue("long", "0123456789")] : [],
                    data: "\"" + String(repeating: "x", count: number % 3 == 0 ? 9_000 : number % 50) + "\"",
                    app: number % 3 == 0 ? .default : other)
            })
        for block in 0...1 as ClosedRange<Int64> {
            #expect(try count(fixture, block) == expected(fixture).filter { $0.block == block })
        }
        #expect(
            sorted(try fixture.restart().blocks) == (try expected(fixture)), "the last block is counted at the start")
        let before = try expected(fixture)

        let first = try fixture.transaction { (transaction) throws(StoreError) in
            let first = try transaction.removeEvents(1...1_500, limit: 5_000).first
            _ = try transaction.countBlock(AppBlock.number(of: first))
            return first
        }
        #expect(first == 1_501)
        #expect(sorted(try fixture.restart().blocks) == (try expected(fixture)))

        try fixture.transaction { (transaction) throws(StoreError) in
            _ = try transaction.erase([2_000, 2_001])
            let found = try transaction.countBlock(1)
            #expect(found.reduce(0) { $0 + $1.events } == 547)
        }
        #expect(sorted(try fixture.restart().blocks) == (try expected(fixture)))
        #expect(try expected(fixture).reduce(0) { $0 + $1.bytes } < before.reduce(0) { $0 + $1.bytes })
    }

    @Test("additions of the current transaction are counted", arguments: StoreKind.allCases)
    func within(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: [Event(id: "a")])
        let found = try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.append(Event(id: "b"))
            return try transaction.countBlock(0)
        }
        #expect(found.map(\.events) == [2])
        #expect(try count(fixture, 9) == [])
    }

    @Test("a block that was not read to its end is not stored before those that it follows")
    func recounting() throws {
        let fixture = try StoreFixture(.postgres)
        try fixture.append((1...2_100).map { Event(id: "e\($0)", data: "\"x\"") })
        func recount() throws -> [AppBlock] {
            try fixture.transaction { (transaction) throws(StoreError) in try transaction.recountBlock(1) }
        }
        #expect(try recount() == expected(fixture).filter { $0.block == 1 })
        #expect(sorted(try fixture.restart().blocks) == (try expected(fixture)), "block 0 is counted at the start")
        try fixture.transaction { (transaction) throws(StoreError) in _ = try transaction.erase([1_500]) }
        #expect(try recount() == expected(fixture).filter { $0.block == 1 })
        #expect(sorted(try fixture.restart().blocks) == (try expected(fixture)), "what is stored is replaced")
    }

    @Test("stored counts are not added again", arguments: [StoreKind.sqlite, .postgres])
    func keeping(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...1_100).map { Event(id: "e\($0)") })
        let kept = AppBlock(app: other, block: 0, events: 5, bytes: 6)
        try fixture.transaction { (transaction) throws(StoreError) in try transaction.keepBlock(0, [kept]) }
        let blocks = sorted(try fixture.restart().blocks)
        #expect(blocks.first == kept && blocks.map(\.block) == [0, 1] && blocks.last?.events == 77)
    }

    @Test(
        "full blocks whose counts were not stored before the end are counted at the start",
        arguments: StoreKind.allCases)
    func missing(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.append((1...1_500).map { Event(id: "a\($0)", app: $0 % 9 == 0 ? other : .default) })
        try fixture.transaction { (transaction) throws(StoreError) in
            _ = try transaction.erase([1_400])
            // The log has not filled it yet.
            _ = try transaction.countBlock(1)
        }
        try fixture.append((1...3_500).map { Event(id: "b\($0)", app: $0 % 9 == 0 ? other : .default) })
        #expect(sorted(try fixture.restart().blocks) == (try expected(fixture)))
        try fixture.append((1...2_000).map { Event(id: "c\($0)") })
        #expect(sorted(try fixture.restart().blocks) == (try expected(fixture)))
        #expect(sorted(try fixture.restart().blocks).map(\.block).max() == 6)
    }

    @Test("the server's secret survives a restart", arguments: StoreKind.allCases)
    func secret(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let secret = try fixture.store.recover().secret
        #expect(try fixture.restart().secret == secret)
        let other = try StoreFixture(kind)
        #expect(try other.store.recover().secret != secret)
        #expect("\(secret)" == "***")
    }
}
