import HeraldTestSupport
import Testing

@Suite("herald check", .enabled(if: TestStore.isFolder))
struct CheckTests {
    @Test("it says what is intact and what is not, of a server that runs and of one that has ended")
    func check() async throws {
        let herald = try await HeraldProcess.start()
        let data = herald.folder.path + "/data"
        for number in 1...9 { try await herald.publish("order.placed", #""data": {"mark": "m\#(number)"}"#) }
        let running = try await Binary.run(["check", data])
        #expect(running.end == .exited(0), "\(running.text)")
        #expect(running.text.contains("ok   events: 9, each as it was stored"))
        #expect(try await herald.stop() == .exited(0))
        let ended = try await Binary.run(["check"], environment: ["HERALD_DATA": data])
        #expect(ended.end == .exited(0))
        #expect(ended.text.contains("ok   write-ahead log: complete"))

        let database = data + "/herald.db"
        var bytes = try Files.read(database)
        let mark = Array(#""mark": "m5""#.utf8)
        let place = try #require(
            (0..<bytes.count - mark.count).first { bytes[$0..<$0 + mark.count].elementsEqual(mark) })
        bytes[place + mark.count - 2] ^= 1
        try Files.write(bytes, to: database)
        let damaged = try await Binary.run(["check", data])
        #expect(damaged.end == .exited(65))
        #expect(damaged.text.contains("BAD  events: 1 of 9 are damaged, at 5"))
        #expect(damaged.text.contains("herald salvage"))
        #expect(try Files.read(database) == bytes)
    }

    @Test("a file that is no database, and a missing file, are reported")
    func nothing() async throws {
        let folder = TemporaryFolder()
        #expect(try await Binary.run(["check", folder.path]).end == .exited(66))
        #expect(try await Binary.run(["check", folder.path + "/none"]).end == .exited(66))
        try Files.write(Array("text".utf8), to: folder.path + "/file")
        #expect(try await Binary.run(["check", folder.path + "/file"]).end == .exited(65))
        let database = try await Binary.run(["check", "postgres://herald@db1/herald"])
        #expect(database.end == .exited(64) && database.text.contains("tools of PostgreSQL"), "\(database.text)")
    }
}
