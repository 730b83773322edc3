import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldPostgres

@Suite("Events from SQL in a PostgreSQL database")
struct SubmissionTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase() }

    /// - Parameter apps: the app of each event, in the order of their commits.
    private func submit(_ apps: String) throws {
        try database.sql(
            """
            INSERT INTO herald.submissions (app, id, type, time, data)
            SELECT app, app || '.' || row_number() OVER (PARTITION BY app ORDER BY number), 'a', 0, 'null'::bytea
            FROM (\(apps)) AS apps (app, number) ORDER BY number
            """)
    }

    @Test("apps take turns, each in the order of its events, however many one app has")
    func turns() throws {
        let store = try database.open()
        try submit("SELECT 1, n FROM generate_series(1, 2000) AS n")
        try submit("VALUES (3, 1), (2, 2), (3, 3)")
        let reader = try store.makeReader()
        func read(_ limit: Int, after app: Int64 = 0, maxBytes: Int = 9_999) throws -> [String] {
            try reader.submissions(after: AppKey(rawValue: app), limit: limit, maxBytes: maxBytes).map(\.id)
        }
        #expect(try read(7) == ["1.1", "2.1", "3.1", "1.2", "3.2", "1.3", "1.4"])
        #expect(try read(7, after: 1) == ["2.1", "3.1", "1.1", "3.2", "1.2", "1.3", "1.4"])
        #expect(try read(7, after: 9) == read(7))
        #expect(try read(2) == ["1.1", "2.1"], "one that has many does not keep the others waiting")
        #expect(try read(2, after: 2) == ["3.1", "1.1"])
        #expect(try read(7, maxBytes: 9) == ["1.1", "2.1", "3.1"], "the data of each has 4 bytes")
        #expect(try read(7, maxBytes: 1) == ["1.1"])
        let all = try reader.submissions(after: AppKey(rawValue: 0), limit: 500, maxBytes: 9_999)
        #expect(all.count == 500 && Set(all.map(\.key)).count == 500)
        try store.transaction(.deciding) { transaction throws(StoreError) in
            _ = try transaction.removeSubmissions(all.map(\.key))
        }
        #expect(try read(2) == ["1.498", "1.499"])
    }

    @Test(
        "a row that cannot be read is left out and reported, and holds up no other event",
        arguments: ["time", "deliver_at"])
    func damaged(_ column: String) throws {
        let store = try database.open()
        try submit("VALUES (1, 1), (1, 2), (2, 3)")
        try database.sql("UPDATE herald.submissions SET \(column) = 9223372036854775807 WHERE id = '1.1'")
        let reader = try store.makeReader()
        for _ in 1...2 {
            let found = try reader.submissions(after: AppKey(rawValue: 0), limit: 7, maxBytes: 9_999)
            #expect(found.map(\.id) == ["2.1", "1.2"])
        }
        #expect(store.damagedRows.findings.map(\.table) == ["submissions"] && store.damagedRows.count == 1)
    }

    @Test("where nothing waits, nothing is read")
    func none() throws {
        let store = try database.open()
        #expect(try store.makeReader().submissions(after: .default, limit: 7, maxBytes: 9_999).isEmpty)
    }

    @Test("with more apps than a read may have, each has its turn")
    func manyApps() throws {
        let store = try database.open()
        try submit("SELECT 1, n FROM generate_series(1, 2000) AS n")
        try submit("SELECT n, n FROM generate_series(2, 1200) AS n")
        let reader = try store.makeReader()
        var (last, apps) = (AppKey(rawValue: 0), [Int64]())
        for _ in 1...3 {
            let found = try reader.submissions(after: last, limit: 500, maxBytes: 99_999)
            last = try #require(found.last).app
            apps += found.map(\.app.rawValue)
        }
        #expect(apps == Array(1...1_200) + Array(1...300))
    }
}
