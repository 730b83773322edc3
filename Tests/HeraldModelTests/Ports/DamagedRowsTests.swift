import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldModel

@Suite("The rows that a store could not read")
struct DamagedRowsTests {
    private final class Book: Sendable {
        private let written = Mutex<[DamagedRows.Finding]>([])
        var all: [DamagedRows.Finding] { written.withLock { $0 } }
        func add(_ finding: DamagedRows.Finding) { written.withLock { $0.append(finding) } }
    }

    @Test("a report has the number of rows of each table, and the first one with its reason")
    func report() {
        let (rows, book) = (DamagedRows(), Book())
        for key in 1...3 { rows.record("\(key)", in: "delegates", "reason \(key)") }
        rows.record("1", in: "passes", "unknown")
        #expect(rows.count == 4 && rows.findings.map(\.count) == [3, 1])
        // Without an observer they are kept.
        rows.report()
        rows.observe { book.add($0) }
        #expect(book.all.map(\.table) == ["delegates", "passes"] && book.all.map(\.count) == [3, 1])
        #expect(book.all.map(\.row) == ["1", "1"] && book.all.map(\.reason) == ["reason 1", "unknown"])
        #expect(rows.findings.isEmpty && rows.count == 4)
    }

    @Test("each row is counted and reported once, however often it is read")
    func once() {
        let (rows, book) = (DamagedRows(), Book())
        rows.observe { book.add($0) }
        for _ in 1...3 {
            rows.record("1", in: "lanes", "reason")
            rows.report()
        }
        #expect(rows.count == 1 && book.all.map(\.count) == [1])
        rows.record("2", in: "lanes", "other")
        rows.report()
        #expect(rows.count == 2 && book.all.map(\.row) == ["1", "2"])
    }

    @Test("a long key and a long reason are cut off")
    func long() {
        let rows = DamagedRows()
        rows.record(String(repeating: "k", count: 5_000), in: "event_types", String(repeating: "r", count: 5_000))
        #expect(rows.findings.map(\.row.count) == [200] && rows.findings.map(\.reason.count) == [500])
    }
}
