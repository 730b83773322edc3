import HeraldStore
import HeraldTestSupport
import Testing

@testable import HeraldSQLite

@Suite("The outbox of a program in an SQLite database")
struct OutboxTests {
    @Test("the rows that were read are settled, and no others that have no id, or the same one; an id may be any bytes")
    func rows() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/program.db"
        try newDatabase(path).execute(
            """
            CREATE TABLE t (id TEXT, type TEXT);
            INSERT INTO t VALUES (NULL, 'a'), (NULL, 'b'), ('x', 'c'), ('x', 'd'), (CAST(x'ff' AS TEXT), 'e');
            CREATE TABLE keyed (id TEXT PRIMARY KEY, type TEXT) WITHOUT ROWID;
            INSERT INTO keyed SELECT type, type FROM t;
            CREATE TABLE "t""\u{301}" AS SELECT * FROM t
            """)
        // The last name has a quote with a combining character.
        for name in ["t", "keyed", "t\"\u{301}"] {
            let outbox = try SQLiteOutbox(
                path: path,
                OutboxTable(
                    schema: nil, name: name, columns: [(part: .id, column: "id"), (part: .type, column: "type")],
                    order: "type", disposal: .delete))
            var types = ""
            for _ in 1...5 {
                for case .row(let texts) in try outbox.next(limit: 1) {
                    types += String(decoding: texts[.type] ?? [], as: UTF8.self)
                }
                try outbox.settle(1)
            }
            let rest = try outbox.next(limit: 1)
            #expect(types == "abcde" && rest.isEmpty, "\(name): \(types)")
        }
    }

    @Test("a view, of which no row can be removed, is refused with the reason, and no advice about Herald")
    func view() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/program.db"
        try newDatabase(path).execute("CREATE TABLE t (id TEXT, type TEXT); CREATE VIEW v AS SELECT * FROM t")
        let table = OutboxTable(
            schema: nil, name: "v", columns: [(part: .id, column: "id"), (part: .type, column: "type")], order: "id",
            disposal: .delete)
        let outbox = try SQLiteOutbox(path: path, table)
        do throws(OutboxError) {
            _ = try outbox.next(limit: 1)
            Issue.record("it is read")
        } catch {
            guard case .unusable(let text) = error else { throw Unexpected("\(error)") }
            #expect(text.contains("cannot modify v because it is a view") && !text.contains("Herald"), "\(text)")
        }
    }
}
