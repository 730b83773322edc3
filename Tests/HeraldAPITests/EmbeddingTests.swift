import HeraldCore
import HeraldSQLite
import HeraldTestSupport
import Testing

@Suite("Herald as a library")
struct EmbeddingTests {
    @Test("the example of the guide leaves its event on disk")
    func example() async throws {
        let folder = TemporaryFolder()
        try await embed(inFolder: folder.path + "/data")
        let store = try SQLiteStore(folder: folder.path + "/data")
        #expect(try store.recover().head == 1)
        store.close()
    }
}
