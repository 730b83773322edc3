import Foundation
import HeraldCore
import HeraldDelivery
import HeraldJSON
import HeraldModel
import HeraldRuntime
import HeraldSQLite
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("Memory", .timeLimit(.minutes(20)), .serialized)
struct MemoryTests {
    @Test(
        "a machine with 2 GiB and one or two delivery threads gets all that the parts have use for", arguments: [1, 2])
    func full(loops: Int) {
        let plan = MemoryPlan(total: MemoryLimit.found(root: "/nowhere", machine: 2 << 30), deliveryLoops: loops)
        let hub = Hub.Configuration()
        #expect(plan.waitingEvents == hub.maxWaitingBytes && plan.recentEvents == hub.memory.maxRecentBytes)
        #expect(plan.caches.writer == SQLiteStore.Caches().writer && plan.caches.reader == SQLiteStore.Caches().reader)
        let (given, wanted) = (plan.ofLoop, hub.loop)
        #expect(given.recentEvents == wanted.recentEvents && given.recentBytes == wanted.recentBytes)
        #expect(given.pageBytes == wanted.pageBytes && given.attempts == wanted.attempts)
        #expect(given.waitingDeliveries == wanted.waitingDeliveries)
        #expect(plan.values == hub.memory.maxValueBytes && plan.keptObjects >= 128 << 20)
        #expect(plan.waitingBodies == 96 << 20 && plan.schemas == 500_000 && plan.awaited == hub.maxAwaitedBytes)
        #expect(plan.connections == 10_000 && plan.streams == 10_000)
        #expect(plan.callbacks == (loops == 1 ? 4_096 : 2_456))
        #expect(!plan.isScarce)
    }

    @Test("the parts together never exceed the whole, and none is empty", arguments: [48, 64, 100, 256, 1024, 65_536])
    func sum(mebibytes: Int) {
        for loops in [1, 2, 6, 62] {
            let plan = MemoryPlan(total: mebibytes << 20, deliveryLoops: loops)
            let parts = [
                plan.databasePages, plan.waitingEvents, plan.list * 4, plan.recentEvents, plan.eventsOfLoop * loops,
                plan.waitingBodies, plan.partialBodies, plan.awaited, plan.connections * 26 << 10,
                plan.streams * 4 << 10, plan.schemas * 100, plan.callbacks * loops * 44 << 10, plan.openEvents * loops,
                plan.ofLoop.attempts * loops * 256,
                plan.keptObjects, plan.values,
            ]
            #expect(parts.reduce(MemoryPlan.fixed, +) <= plan.total)
            #expect(parts.allSatisfy { $0 > 0 })
        }
    }

    @Test(
        "the limit is that of the control group or of one that it is in, version 1 or 2, or else a part of the machine's",
        arguments: [
            // (/proc/self/cgroup, files, MiB)
            ("0::/a/b", ["a/b/memory.max": "100", "a/memory.max": "max"], 100),
            ("0::/a/b", ["a/b/memory.max": "max", "a/memory.max": "90", "memory.max": "95"], 90),
            ("0::/", ["memory.max": "80"], 80), ("0::/", ["memory.max": "max"], 768), ("0::/", [:], 768),
            ("4:memory:/x\n0::/", ["memory/x/memory.limit_in_bytes": "70"], 70),
            ("4:cpu,memory:/x\n1:name=systemd:/", ["memory/x/memory.limit_in_bytes": "60"], 60),
            // In a container the path may be that of the host.
            ("4:memory:/docker/abc", ["memory/memory.limit_in_bytes": "50"], 50),
            ("4:memory:/x", ["memory/x/memory.limit_in_bytes": "8796093022207"], 768), ("", [:], 768),
        ] as [(String, [String: String], Int)])
    func limit(groups: String, files: [String: String], mebibytes: Int) throws {
        let folder = TemporaryFolder()
        func write(_ path: String, _ text: String) throws {
            let file = URL(fileURLWithPath: "\(folder.path)/\(path)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        try write("proc/self/cgroup", groups)
        for (path, limit) in files {
            try write("sys/fs/cgroup/" + path, (Int(limit).map { String($0 << 20) } ?? limit) + "\n")
        }
        #expect(MemoryLimit.found(root: folder.path, machine: 1 << 30) == mebibytes << 20)
    }

    @Test(
        "a server has as many threads as the system grants cores",
        arguments: [
            ("max 100000", "ffffffff,ffffffff", 64), ("150000 100000", "ffffffff,ffffffff", 2),
            ("50000 100000", "ffffffff", 1), ("400000 100000", "0000000e", 3), (nil, nil, 64), ("x", "0", 64),
        ] as [(String?, String?, Int)])
    func cores(quota: String?, mask: String?, cores: Int) throws {
        let folder = TemporaryFolder()
        for name in ["proc/self", "sys/fs/cgroup"] {
            try FileManager.default.createDirectory(
                at: URL(fileURLWithPath: "\(folder.path)/\(name)"), withIntermediateDirectories: true)
        }
        func write(_ path: String, _ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder.path)/\(path)"))
        }
        try write("proc/self/cgroup", "0::/\n")
        if let mask { try write("proc/self/status", "Name:\therald\nCpus_allowed:\t\(mask)\nMems_allowed:\t1\n") }
        if let quota { try write("sys/fs/cgroup/cpu.max", quota + "\n") }
        #expect(CoreLimit.found(root: folder.path, machine: 64) == cores)
    }

    @Test("a server with 64 MiB says how it divides them, and delivers")
    func small() async throws {
        let herald = try await HeraldProcess.start(["--memory", "64MiB"])
        let receiver = try herald.receiver()
        #expect(herald.log("listening").first?["memory"]?.string == "64MiB")
        let line = try #require(herald.log("memory is divided").first)
        #expect(line["database_pages"]?.string?.hasSuffix("KiB") == true && line["connections"]?.string == "255")
        _ = try await herald.register(receiver.url())
        let id = try await herald.publish()
        _ = try await herald.deliveries(of: id, "delivered")
    }

    @Test("with little memory a list of large events comes in small pages, and has everything in the end")
    func lists() async throws {
        let herald = try await HeraldProcess.start(["--memory", "64MiB"])
        let body = #"{"type": "large.one", "data": "\#(String(repeating: "x", count: 200_000))"}"#
        var ids: Set<String> = []
        for _ in 0..<10 { ids.insert(try await herald.post("/v1/events", body).id) }
        var found: [String] = []
        var path: String? = "/v1/events?type=large.*&limit=200"
        while let address = path {
            let page = try await herald.get(address)
            #expect(page.data.count < 5)
            found += page.data.compactMap { $0["id"]?.string }
            path = page.string("next_cursor").map { "/v1/events?type=large.*&limit=200&cursor=\($0)" }
        }
        #expect(found.count == 10 && Set(found) == ids)
    }

    @Test("with little memory a pull takes few large events, and the next ones get the rest")
    func pulls() async throws {
        let herald = try await HeraldProcess.start(["--memory", "64MiB"])
        let made = try await herald.post("/v1/delegates", #"{"kind": "pull", "events": ["large.*"]}"#)
        let body = #"{"type": "large.one", "data": "\#(String(repeating: "x", count: 200_000))"}"#
        var ids: [String] = []
        for _ in 0..<6 { ids.append(try await herald.post("/v1/events", body).id) }
        var pulled: [String] = []
        while pulled.count < ids.count {
            let run = try await herald.post("/v1/delegates/\(made.id)/pull", "")
            let events = run["events"].map { Array($0.elements) } ?? []
            try #require((1...4).contains(events.count), "\(events.count)")
            #expect(run["more"]?.bool == (pulled.count + events.count < ids.count))
            pulled += events.compactMap { $0["id"]?.string }
        }
        #expect(pulled == ids)
    }

    @Test(
        "a server with little memory keeps as much as fits, refuses the rest, and starts again with what it has accepted"
    )
    func kept() async throws {
        let herald = try await HeraldProcess.start(["--memory", "48MiB"])
        // Schemas are in the store, so that their bytes do not count.
        let padding = String(repeating: "x", count: 60_000)
        let schema = #"{"schema": {"description": "\#(padding)", "required": ["a"]}, "check": "enforce"}"#
        for number in 0..<40 {
            let answer = try await herald.send("PUT", "/v1/event-types/large.t\(number)", schema)
            #expect(answer.status == 201)
        }
        let subjects = (0..<1_000).map { #""\#(String(repeating: "s", count: 250))\#($0)""# }.joined(separator: ",")
        var refused: Answer?
        var registered = 0
        while refused == nil, registered < 100 {
            let body = #"{"url": "http://127.0.0.1:9/\#(registered)", "subjects": [\#(subjects)]}"#
            let answer = try await herald.post("/v1/delegates", body)
            if answer.status == 201 { registered += 1 } else { refused = answer }
        }
        let problem = try #require(refused)
        #expect(problem.status == 409 && problem.string("type") == "/problems/too-many", "\(problem.text)")
        #expect(problem.string("detail")?.contains("--memory") == true && (1...20).contains(registered))
        let small = try await herald.post("/v1/delegates", #"{"url": "http://127.0.0.1:9/small"}"#)
        #expect(small.status == 201)
        try await herald.kill()
        let again = try await herald.restart(["--memory", "48MiB"])
        #expect(try await again.post("/v1/events", #"{"type": "large.t39", "data": {}}"#).errors == ["/data"])
        #expect(try await again.post("/v1/events", #"{"type": "large.t0", "data": {"a": 1}}"#).status == 202)
        var types = 0
        var path: String? = "/v1/event-types?limit=200"
        while let address = path {
            let page = try await again.get(address)
            #expect(page.data.count < 40, "a page is bounded by its bytes")
            types += page.data.count
            path = page.string("next_cursor").map { "/v1/event-types?limit=200&cursor=\($0)" }
        }
        #expect(types == 40)
    }

    @Test("a start takes no more memory when the events of the log are large")
    func largeLog() async throws {
        let herald = try await HeraldProcess.start(["--memory", "64MiB"])
        let empty = try mostMemory(of: herald)
        let body = #"{"type": "large.one", "data": "\#(String(repeating: "x", count: 250_000))"}"#
        for _ in 0..<600 { #expect(try await herald.post("/v1/events", body).status == 202) }
        try await herald.kill()
        let again = try await herald.restart(["--memory", "64MiB"])
        #expect(again.log("listening").first?["events"]?.string == "600")
        // In MiB: the log has 150.
        #expect(try mostMemory(of: again) < empty + 60)
    }

    @Test(
        "a start takes no more memory when many deliveries of a delegate wait", .enabled(if: TestStore.isFolder),
        arguments: ["none", "subject"])
    func manyWaiting(ordering: String) async throws {
        let count = 60_000
        let herald = try await HeraldProcess.start(["--memory", "64MiB", "--allow-networks", HeraldProcess.loopback])
        let empty = try mostMemory(of: herald)
        #expect(
            try await herald.register(
                "http://127.0.0.1:9/", #""events": ["other"]"#, #""ordering": "\#(ordering)""#
            ).status == 201)
        for part in 0..<(count / 1_000) {
            let events = (0..<1_000).map { #"{"type": "a", "subject": "order:\#((part * 1_000 + $0) % 70)"}"# }
            let answer = try await herald.post("/v1/events", "[\(events.joined(separator: ","))]")
            #expect(answer.status == 202)
        }
        _ = try await herald.stop()

        let store = try SQLiteStore(folder: herald.folder.path + "/data")
        let delegate = try #require(try store.recover().delegates.first)
        var checkpoint = Checkpoint()
        // Due in an hour.
        let due = Clock.system.wall() + 3_600_000
        checkpoint.waiting = (1...LogPosition(count)).map {
            WaitingDelivery(delegate: delegate.key, event: $0, attempts: 1, dueAt: due + $0, state: .retrying)
        }
        _ = try store.recover(.all)
        _ = try store.transaction(.recording) { (transaction) throws(StoreError) in try transaction.write(checkpoint) }
        store.close()

        let again = try await herald.restart(["--memory", "64MiB", "--allow-networks", HeraldProcess.loopback])
        _ = try await again.get("/v1/delegates/\(delegate.id)/stats") {
            $0["pending"]?["retrying"]?.integer == Int64(count)
        }
        // In MiB: the rows would take 40.
        #expect(try mostMemory(of: again) < empty + 25)
    }

    /// In MiB.
    private func mostMemory(of herald: HeraldProcess) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(herald.process.id)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.filter(\.isNumber))) / 1024
    }

    @Test("a setting that is given explicitly holds with little memory, too")
    func explicit() async throws {
        let herald = try await HeraldProcess.start(["--memory", "48MiB", "--max-body", "8388608"])
        let body = #"{"type": "large.one", "data": "\#(String(repeating: "x", count: 8_000_000))"}"#
        #expect(try await herald.post("/v1/events", body).status == 202)
    }
}
