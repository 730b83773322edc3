import HeraldTestSupport
import Testing

@testable import HeraldModel

@Suite("Rows of a table beyond its limit")
struct TableTrimTests {
    private func trim(_ counts: [Int64], limit: Int64) -> TableTrim {
        TableTrim(
            counts.enumerated().map { .init(app: AppKey(rawValue: Int64($0.offset + 1)), rows: $0.element) },
            limit: limit)
    }

    private func lost(_ trim: TableTrim) -> [Int64: Int64] {
        Dictionary(uniqueKeysWithValues: trim.shares.map { ($0.app.rawValue, $0.rows) })
    }

    @Test("the app that has most loses rows, and no other app")
    func one() {
        #expect(lost(trim([5, 90, 15], limit: 100)) == [2: 10])
        #expect(trim([5, 90, 15], limit: 100).oldest == 0)
    }

    @Test("apps that have most keep as many as each other")
    func several() {
        #expect(lost(trim([50, 20, 60], limit: 100)) == [1: 10, 3: 20])
        #expect(lost(trim([50, 51], limit: 100)) == [2: 1])
        #expect(lost(trim([50, 50, 50], limit: 100)) == [1: 16, 2: 17, 3: 17])
    }

    @Test("nothing is removed up to the limit, and the table is counted again when it may be beyond it")
    func none() {
        #expect(trim([], limit: 10).shares.isEmpty && trim([4, 6], limit: 10).shares.isEmpty)
        #expect(trim([4, 2], limit: 10).next(after: 50, slack: AuditEntry.slack) == 54 + AuditEntry.slack)
        #expect(trim([4, 20], limit: 10).next(after: 50, slack: AuditEntry.slack) == 50 + AuditEntry.slack)
    }

    @Test("where many apps have as many, the oldest rows of all are removed")
    func many() {
        let found = trim([Int64](repeating: 10, count: 100) + [12], limit: 900)
        #expect(lost(found) == [101: 2] && found.oldest == 110)
    }

    @Test("any table has its limit afterwards, and no app is below one that lost rows")
    func everyTable() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<2_000 {
            let counts = (0..<Int.random(in: 1...12, using: &random)).map { _ in
                Int64.random(in: 1...40, using: &random)
            }
            let limit = Int64.random(in: 1...100, using: &random)
            let found = trim(counts, limit: limit)
            let lost = lost(found)
            let total = counts.reduce(0, +)
            #expect(lost.values.reduce(0, +) + found.oldest == max(0, total - limit))
            for (app, rows) in lost {
                let kept = counts[Int(app) - 1] - rows
                #expect(rows > 0 && kept >= 0)
                for (index, count) in counts.enumerated() where lost[Int64(index) + 1] == nil {
                    #expect(kept >= count - 1)
                }
            }
        }
    }
}
