import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("The data folder of a server that runs", .enabled(if: TestStore.isFolder))
struct FolderTests {
    @Test("removed: the server refuses publications, logs the reason, and ends with 74")
    func removed() async throws {
        let herald = try await HeraldProcess.start()
        try await herald.publish()
        #expect(try await ChildProcess.run("rm", ["-rf", herald.folder.path + "/data"]).end == .exited(0))
        #expect(try await herald.process.ended() == .exited(74))
        let lines = herald.log("stopping: the data folder is no longer the one that is open")
        #expect(lines.count == 1)
        #expect(lines.first?["reason"]?.string?.contains(herald.folder.path + "/data") == true)
    }

    @Test("moved under load: the server ends with 74, and all that it acknowledged is in the folder that was moved")
    func moved() async throws {
        let herald = try await HeraldProcess.start()
        let load = Load(port: herald.port, prefix: "m")
        try await eventually("events are acknowledged") { load.result.acknowledged.count > 100 }
        let moved = herald.folder.path + "/moved"
        #expect(rename(herald.folder.path + "/data", moved) == 0)
        #expect(try await herald.process.ended() == .exited(74))
        let result = try await load.stop()
        #expect(Set(result.refused.keys).isSubset(of: [503]))
        #expect(try Files.names(in: herald.folder.path) == ["moved"], "no new folder was made in its place")

        let next = try await HeraldProcess.start(folder: herald.folder, data: moved)
        var there: Set<String> = []
        var path = "/v1/events?limit=200"
        while true {
            let page = try await next.get(path)
            there.formUnion(page.data.compactMap { $0["id"]?.string })
            guard let cursor = page.string("next_cursor") else { break }
            path = "/v1/events?limit=200&cursor=\(cursor)"
        }
        #expect(result.acknowledged.subtracting(there).isEmpty)
    }

    @Test("without its lock file: another process is refused, and the server continues")
    func lockFileRemoved() async throws {
        let herald = try await HeraldProcess.start()
        #expect(unlink(herald.folder.path + "/data/herald.lock") == 0)
        let other = try await ChildProcess.run(
            try Binary.path(), ["serve", "--listen", "127.0.0.1:0", "--data", herald.folder.path + "/data"])
        #expect(other.end == .exited(73))
        #expect(other.text.contains("is in use by another process"))
        try await herald.publish()
        #expect(try await herald.get("/v1/events").data.count == 1)
        #expect(try await herald.stop() == .exited(0))
    }
}
