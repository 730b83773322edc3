import HeraldStore
import HeraldTestSupport
import Testing

@testable import HeraldSQLite

@Suite("The outbox of a program in an SQLite database")
struct OutboxTests {
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
            guard case .unusable(let text) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(text.contains("cannot modify v because it is a view") && !text.contains("Herald"), "\(text)")
        }
    }
}
