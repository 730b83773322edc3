import Glibc
import HeraldModel
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldSQLite

@Suite("Damage in the database")
struct DamageTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/data" }
    private var database: String { path + "/herald.db" }

    /// Events of all shapes.
    private func events(_ count: Int) -> [Event] {
        (1...count).map { number in
            Event(
                id: "evt_\(number)", subject: number.isMultiple(of: 3) ? nil : "order:\(number)", time: Int64(number),
                attributes: number.isMultiple(of: 4) ? [KeyValue("source", "/shop/\(number)")] : [],
                data: #"{"number": \#(number), "text": "\#(String(repeating: "x", count: number * 7 % 900))"}"#)
        }
    }

    @Test("a read that fails once is no damage: it is repeated. One that fails again ends all writing")
    func failsOnce() throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let damage = StoreError.corrupt(path: database, reason: "database disk image is malformed")
        var runs = 0
        func append(failing: Int) throws(StoreError) {
            runs = 0
            try store.transaction { (transaction) throws(StoreError) in
                runs += 1
                try transaction.append([Event(id: "evt_\(failing)")])
                if runs <= failing { throw damage }
            }
        }
        try append(failing: 1)
        #expect(runs == 2)
        let reader = try store.makeReader()
        #expect(try reader.events(after: 0, limit: 9, maxBytes: .max).events.map(\.id) == ["evt_1"])
        let found = failure { try append(failing: 2) }
        #expect(found == damage && runs == 2)
        let refused = failure { try append(failing: 0) }
        #expect(refused == damage && runs == 0)
    }

    @Test("a start that finds damage reads again, and other errors are not repeated")
    func startsAgain() throws {
        for (error, times) in [(StoreError.logDamaged(path: path, reason: "cut"), 2), (StoreError.full, 1)] {
            var runs = 0
            let thrown = failure {
                try SQLiteStore.readingAgain { () throws(StoreError) -> Void in
                    runs += 1
                    throw error
                }
            }
            #expect(thrown == error && runs == times)
        }
    }

    @Test("a start reads again after an error of the disk, too")
    func startsAfterDiskError() throws {
        var runs = 0
        try SQLiteStore.readingAgain(isStart: true) { () throws(StoreError) -> Void in
            runs += 1
            if runs == 1 { throw StoreError.inputOutput(reason: "page") }
        }
        #expect(runs == 2)
    }

    @Test("a log that the disk can't read is an error of the disk, and does not end there")
    func unreadableLog() {
        // Nothing is mapped at the address 0: a read of it ends with EIO.
        let failing = "/proc/self/mem"
        let thrown = failure { _ = try LogScan(path: failing) }
        #expect(thrown == StoreError.inputOutput(reason: "\(failing): Input/output error"))
    }

    private func makeDatabase(_ count: Int) throws -> [Event] {
        let events = events(count)
        let store = try SQLiteStore(folder: path)
        try store.transaction { (transaction) throws(StoreError) in try transaction.append(events) }
        store.close()
        return events
    }

    /// Where in the file the bytes are.
    private func place(of text: String) throws -> Int {
        let all = try #require(bytes(database))
        let wanted = Array(text.utf8)
        return try #require((0..<all.count - wanted.count).first { all[$0..<$0 + wanted.count].elementsEqual(wanted) })
    }

    private func flip(_ bit: Int) throws {
        var all = try #require(bytes(database))
        all[bit / 8] ^= 1 << (bit % 8)
        write(all, to: database)
    }

    @Test("an event with a flipped bit is not served, and is counted and reported once")
    func flippedPayload() throws {
        _ = try makeDatabase(30)
        try flip((try place(of: #"{"number": 7,"#) + 4) * 8 + 1)
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let reader = try store.makeReader()
        let reported = Reported()
        store.damagedEvents.observe { reported.add($0) }
        for _ in 0..<2 {
            let batch = try reader.events(after: 0, limit: 99, maxBytes: 1 << 20)
            #expect(batch.first == 1 && batch.events.count == 30)
            #expect(batch.events.indices.filter { batch.events[$0].isDamaged } == [6])
            #expect(batch.events[6].data == Array("null".utf8)[...])
            #expect(try #require(try reader.event(app: .default, id: "evt_7")).event.isDamaged)
            #expect(try #require(try reader.event(app: .default, id: "evt_8")).event.isDamaged == false)
            // A list leaves it out, and is as long as was asked for.
            var query = EventQuery()
            query.limit = 29
            #expect(try reader.events(query).map(\.sequence) == (1...30).reversed().filter { $0 != 7 })
            try store.transaction { (transaction) throws(StoreError) in
                #expect(try transaction.event(app: .default, id: "evt_7")?.event.isDamaged == true)
                #expect(try transaction.erase([7]).events == 0)
            }
        }
        #expect(store.damagedEvents.count == 1)
        #expect(reported.positions == [7])
    }

    @Test("a row that is another event's, and one that lost its checksum, are damaged")
    func swappedRows() throws {
        _ = try makeDatabase(9)
        do {
            let connection = try Connection(path: database, .readWrite)
            try connection.execute(
                "UPDATE events SET data = (SELECT data FROM events WHERE sequence = 2) WHERE sequence = 3")
            try connection.execute("UPDATE events SET checksum = checksum + 1 WHERE sequence = 5")
            try connection.execute("UPDATE events SET app = 2 WHERE sequence = 7")
            try connection.execute("UPDATE events SET audience = 0 WHERE sequence = 8")
            _ = try connection.checkpoint(.truncate)
        }
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let batch = try store.makeReader().events(after: 0, limit: 99, maxBytes: 1 << 20)
        #expect(batch.events.indices.filter { batch.events[$0].isDamaged } == [2, 4, 6, 7])
    }

    @Test("50 flipped bits: nothing wrong is served, and nothing is missing silently", arguments: 0..<50)
    func flippedBits(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let written = try makeDatabase(60)
        try flip(Int.random(in: 0..<(try #require(bytes(database)).count * 8), using: &random))
        guard let store = try? SQLiteStore(folder: path) else { return }
        defer { store.close() }
        guard let batch = try? store.makeReader().events(after: 0, limit: 99, maxBytes: 1 << 20) else { return }
        var intact = 0
        for (offset, found) in batch.events.enumerated() where !found.isDamaged {
            let original = written[Int(batch.first) - 1 + offset]
            #expect(found.id == original.id && found.body == original.body && found.attributes == original.attributes)
            intact += 1
        }
        #expect(intact == written.count || store.damagedEvents.count > 0)
    }
}

private final class Reported: Sendable {
    private let all = Mutex<[LogPosition]>([])
    var positions: [LogPosition] { all.withLock { $0 } }
    func add(_ position: LogPosition) { all.withLock { $0.append(position) } }
}
