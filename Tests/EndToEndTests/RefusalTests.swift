import Glibc
import HeraldTestSupport
import Testing

@Suite("Data that can't be used", .enabled(if: TestStore.isFolder), .timeLimit(.minutes(20)), .serialized)
struct RefusalTests {
    private func serve(_ data: String) async throws -> (end: ChildProcess.End, text: String) {
        try await Binary.run(["serve", "--listen", "127.0.0.1:0", "--data", data, "--log-format", "json"])
    }

    /// A folder with a database that was closed cleanly.
    private func usedFolder() async throws -> TemporaryFolder {
        let herald = try await HeraldProcess.start()
        try await herald.publish()
        #expect(try await herald.stop() == .exited(0))
        return herald.folder
    }

    /// Starts on damaged data: it must refuse, say why, and leave the file as it is.
    private func expectRefusal(
        _ code: Int32, _ folder: TemporaryFolder, mentioning words: String..., damage: (inout [UInt8]) -> Void
    ) async throws {
        let file = folder.path + "/data/herald.db"
        var bytes = try Files.read(file)
        damage(&bytes)
        try Files.write(bytes, to: file)
        let result = try await serve(folder.path + "/data")
        #expect(result.end == .exited(code), "\(result.text)")
        for word in words { #expect(result.text.contains(word), "\(result.text)") }
        #expect(result.text.split(separator: "\n").count == 1, "\(result.text)")
        #expect(try Files.read(file) == bytes)
    }

    @Test("a second process on the same folder is refused, with the id of the first")
    func inUse() async throws {
        let herald = try await HeraldProcess.start()
        let second = try await serve(herald.folder.path + "/data")
        #expect(second.end == .exited(73))
        #expect(second.text.contains("process \(herald.process.id)"), "\(second.text)")
        try await herald.publish()
        try await herald.kill()
        // The lock dies with its holder.
        let next = try await herald.restart()
        #expect(try await next.get("/v1/events").data.count == 1)
    }

    @Test("a damaged file is refused")
    func corrupt() async throws {
        try await expectRefusal(65, try await usedFolder(), mentioning: "herald.db") { bytes in
            for index in 4096 * 2..<bytes.count { bytes[index] = 0x5a }
        }
    }

    @Test("an empty file, or one that is not a database, is refused")
    func noDatabase() async throws {
        try await expectRefusal(65, try await usedFolder(), mentioning: "empty") { $0 = [] }
        try await expectRefusal(65, try await usedFolder(), mentioning: "not an SQLite database") {
            $0 = Array(repeating: 65, count: 8192)
        }
    }

    @Test("a file of a newer version is refused, and both versions are named")
    func newer() async throws {
        // user_version, big-endian.
        try await expectRefusal(65, try await usedFolder(), mentioning: "9999", "later one") { bytes in
            bytes.replaceSubrange(60..<64, with: [0, 0, 0x27, 0x0f])
        }
    }

    @Test("another program's database is refused")
    func foreign() async throws {
        try await expectRefusal(65, try await usedFolder(), mentioning: "another program") { bytes in
            bytes.replaceSubrange(68..<72, with: [0, 0, 0, 1])
        }
    }

    @Test("a write-ahead log that is lost after a crash is detected: it contained acknowledged events")
    func lostLog() async throws {
        let herald = try await HeraldProcess.start()
        try await herald.publish()
        try await herald.kill()
        unlink(herald.folder.path + "/data/herald.db-wal")
        let result = try await serve(herald.folder.path + "/data")
        #expect(result.end == .exited(65))
        #expect(result.text.contains("herald.db-wal"), "\(result.text)")
    }

    @Test("a folder that can't be created is refused")
    func notWritable() async throws {
        let folder = TemporaryFolder()
        try Files.write([65], to: folder.path + "/file")
        for path in ["/file/data", "/file", "/missing/data"] {
            let result = try await serve(folder.path + path)
            #expect(result.end == .exited(73), "\(result.text)")
            #expect(result.text.contains(folder.path + path), "\(result.text)")
        }
    }

    @Test("an address in use is refused before the data is opened")
    func addressInUse() async throws {
        let herald = try await HeraldProcess.start()
        let folder = TemporaryFolder()
        let result = try await Binary.run(
            ["serve", "--listen", "127.0.0.1:\(herald.port)", "--data", folder.path + "/data", "--log-format", "json"])
        #expect(result.end == .exited(69))
        #expect(result.text.contains("127.0.0.1 port \(herald.port)"), "\(result.text)")
        #expect(access(folder.path + "/data", F_OK) != 0)
    }
}
