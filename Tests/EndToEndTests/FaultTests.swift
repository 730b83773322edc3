import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Faults of the disk", .enabled(if: TestStore.isFolder), .timeLimit(.minutes(20)), .serialized)
struct FaultTests {
    private static func hasStrace() -> Bool { ChildProcess.exists("strace") }

    /// Whether a file system can be mounted in a private namespace.
    private static func mayMount() async -> Bool {
        let mount = ["-m", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"]
        return (try? await ChildProcess.run("unshare", mount).end) == .exited(0)
    }

    /// Runs a server from its start so that a system call fails. `-D`: the server is our child, not strace's.
    private static func strace(_ folder: TemporaryFolder, _ call: String, _ inject: String) -> [String] {
        ["strace", "-D"] + options(folder, call, inject)
    }

    private static func options(
        _ folder: TemporaryFolder, _ call: String, _ inject: String, of file: String? = nil
    ) -> [String] {
        ["-f", "-qq", "-o", folder.path + "/strace", "-e", "trace=\(call)", "-e", "inject=\(call):\(inject)"]
            + (file.map { ["-P", $0] } ?? [])
    }

    /// Makes a system call of a server that runs fail, on one file or on all. Each thread counts its own calls from here on.
    private func attach(
        _ herald: HeraldProcess, _ call: String, _ inject: String, of file: String? = nil
    ) async throws -> ChildProcess {
        let id = herald.process.id
        let strace = try ChildProcess("strace", Self.options(herald.folder, call, inject, of: file) + ["-p", "\(id)"])
        try await eventually("strace is attached") {
            if strace.end != nil { throw HeraldFailure(what: "strace: \(strace.text)") }
            let tasks = try Files.names(in: "/proc/\(id)/task")
            return try tasks.allSatisfy { task in
                !String(decoding: try Files.read("/proc/\(id)/task/\(task)/status"), as: UTF8.self)
                    .contains("TracerPid:\t0\n")
            }
        }
        return strace
    }

    @Test("a limit of the size of files refuses publications, and does not end the server")
    func fileSize() async throws {
        let herald = try await HeraldProcess.start(prefix: ["sh", "-c", "ulimit -f 16384 && exec \"$0\" \"$@\""])
        let event = #"{"type": "a.b", "data": "\#(String(repeating: "x", count: 100_000))"}"#
        var status = 202
        for _ in 0..<400 where status == 202 { status = try await herald.post("/v1/events", event).status }
        #expect(status == 503)
        #expect(try await herald.get("/readyz").status == 503)
        #expect(try await herald.get("/healthz").status == 200)
    }

    @Test(
        "a full disk: publishers get 503, reads and deliveries continue, and it recovers without a restart",
        .enabled("needs to be root, to mount a small file system", mayMount))
    func diskFull() async throws {
        let folder = TemporaryFolder()
        let data = folder.path + "/data"
        mkdir(data, 0o700)
        let mount = #"mount -t tmpfs -o size=128m tmpfs "$0" && exec "$@""#
        let herald = try await HeraldProcess.start(
            folder: folder, data: data, prefix: ["unshare", "-m", "sh", "-c", mount, data])
        let (receiver, _) = try await herald.registerReceiver()
        var acknowledged: Set<String> = []
        for _ in 0..<5 { acknowledged.insert(try await herald.publish()) }

        // The file system of the server, seen through it.
        let filler = "/proc/\(herald.process.id)/root\(data)/filler"
        for round in 1...3 {
            try Files.fillDisk(filler)
            let large = #""data": "\#(String(repeating: "x", count: 20_000))""#
            var refused: Answer?
            for _ in 0..<50 where refused == nil {
                let answer = try await herald.post("/v1/events", "{\"type\": \"a.b\", \(large)}")
                if answer.status == 202 { acknowledged.insert(answer.id) } else { refused = answer }
            }
            let problem = try #require(refused)
            #expect(problem.status == 503)
            #expect(problem.problem == "storage-full")
            #expect(problem.header("retry-after") != nil)
            #expect(try await herald.get("/v1/events").status == 200)
            #expect(try await herald.get("/healthz").status == 200)
            let ready = try await herald.get("/readyz")
            #expect(ready.status == 503)
            #expect(ready.problem == "storage-full")
            #expect(try await entries(of: herald, Self.failed, round).count == round)

            #expect(unlink(filler) == 0)
            // By itself.
            let port = herald.port
            let id: String = try await eventually("posting works again") {
                let client = try RawHTTPClient(port: port)
                let body = #"{"type": "a.b", "data": "\#(String(repeating: "x", count: 20_000))"}"#
                client.send(
                    "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
                guard let answer = try client.readResponse().map(Answer.init), answer.status == 202 else { return nil }
                return answer.id
            }
            acknowledged.insert(id)
            _ = try await herald.get("/readyz") { $0.status == 200 }
            #expect(try await entries(of: herald, Self.worksAgain, round).count == round)
        }
        #expect(herald.process.end == nil)
        #expect(try await herald.get("/v1/delegates?kind=webhook").data.count == 1)
        for event in acknowledged { _ = try await herald.deliveries(of: event, "delivered") }
        let told = receiver.requests.compactMap { $0.header("webhook-id") }
        #expect(Set(told) == acknowledged, "refused events are not delivered")
        #expect(told.count == acknowledged.count)
        #expect(try await herald.stop() == .exited(0))
    }

    @Test(
        "an I/O error on write: 503, nothing is acknowledged, and the server continues",
        .enabled("needs strace", hasStrace))
    func writeError() async throws {
        let herald = try await HeraldProcess.start()
        let strace = try await attach(herald, "pwrite64", "error=EIO:when=20..23")
        defer { strace.signal(SIGTERM) }
        var acknowledged: Set<String> = []
        var refused: Set<String> = []
        for number in 0..<60 {
            let answer = try await herald.post("/v1/events", #"{"type": "a.b", "id": "w\#(number)"}"#)
            if answer.status == 202 {
                acknowledged.insert("w\(number)")
            } else {
                #expect(answer.status == 503)
                #expect(answer.problem == "storage-unavailable")
                #expect(answer.header("retry-after") != nil)
                refused.insert("w\(number)")
            }
        }
        #expect(!refused.isEmpty, "the fault was not met")
        #expect(acknowledged.contains("w59"))
        let listed = Set(try await herald.get("/v1/events?limit=200").data.compactMap { $0["id"]?.string })
        #expect(listed == acknowledged)
        #expect(try await herald.stop() == .exited(0))
        let next = try await herald.restart()
        #expect(Set(try await next.get("/v1/events?limit=200").data.compactMap { $0["id"]?.string }) == acknowledged)
    }

    @Test(
        "a disk that refuses writes: one line in the log and 503 from /readyz until it works again, which it finds out by itself",
        .enabled("needs strace", hasStrace))
    func writesFailForAWhile() async throws {
        let herald = try await HeraldProcess.start()
        let strace = try await attach(herald, "pwrite64", "error=EIO")
        for _ in 1...3 { #expect(try await herald.post("/v1/events", #"{"type": "a.b"}"#).status == 503) }
        let ready = try await herald.get("/readyz")
        #expect(ready.status == 503)
        #expect(ready.problem == "storage-unavailable")
        #expect(ready.string("detail")?.contains("The disk reports errors.") == true)
        let lines = try await entries(of: herald, Self.failed)
        #expect(lines.count == 1)
        #expect(lines.first?["data"]?.string == herald.folder.path + "/data")
        #expect(lines.first?["reason"]?.string?.contains("disk I/O error") == true)
        #expect(lines.first?["to_do"]?.string?.isEmpty == false)

        // Nothing is published from here on.
        strace.signal(SIGTERM)
        _ = try await herald.get("/readyz") { $0.status == 200 }
        let ends = try await entries(of: herald, Self.worksAgain)
        #expect(ends.count == 1)
        #expect(ends.first?["requests_refused"]?.string == "3")
        #expect(ends.first?["seconds"]?.string.flatMap(Double.init) ?? 0 > 0)
        try await herald.publish()
        #expect(try await herald.stop() == .exited(0))
    }

    @Test(
        "a write-ahead log that cannot be copied into the database: events are taken, the log and /readyz say so until it works",
        .enabled("needs strace", hasStrace))
    func databaseCheckpointsFail() async throws {
        let herald = try await HeraldProcess.start()
        let strace = try await attach(herald, "pwrite64", "error=EIO", of: herald.folder.path + "/data/herald.db")
        let large = String(repeating: "x", count: 200_000)
        for _ in 0..<30 {
            #expect(try await herald.post("/v1/events", #"{"type": "a.b", "data": "\#(large)"}"#).status == 202)
        }
        #expect(try await herald.get("/readyz").status == 503)
        #expect(
            try await entries(of: herald, "the write-ahead log cannot be copied into the database, and grows").count
                == 1)
        #expect(herald.log(Self.failed).isEmpty)
        let metrics = try await herald.get("/metrics").text
        #expect(metrics.contains(#/\nherald_database_checkpoints_failed_total [1-9]/#))
        strace.signal(SIGTERM)
        _ = try await herald.get("/readyz") { $0.status == 200 }
        #expect(try await entries(of: herald, Self.worksAgain).first?["requests_refused"]?.string == "0")
        #expect(try await herald.stop() == .exited(0))
    }

    private static let failed = "the storage has failed, and requests that write are refused with 503"
    private static let worksAgain = "the storage works again"

    /// The entries of the log with this message, which another thread writes: at least so many.
    private func entries(
        of herald: HeraldProcess, _ message: String, _ count: Int = 1
    ) async throws -> [JSONDocument] {
        try await eventually("the log has \(count) of: \(message)") {
            let entries = herald.log(message)
            return entries.count >= count ? entries : nil
        }
    }

    /// Not the second sync: that is SQLite's of the folder, of which it ignores how it ended. Herald has synced the folder
    /// itself at the start.
    @Test(
        "a failed sync ends the process with 74 and one clear line, and no acknowledged event is lost",
        .enabled("needs strace", hasStrace), arguments: [1, 3, 7, 20])
    func syncError(number: Int) async throws {
        let herald = try await HeraldProcess.start()
        let strace = try await attach(herald, "fdatasync", "error=EIO:when=\(number)")
        defer { strace.signal(SIGTERM) }
        let load = Load(port: herald.port, prefix: "f")
        #expect(try await herald.process.ended() == .exited(74))
        let result = try await load.stop()
        #expect(Set(result.refused.keys).isSubset(of: [503]))
        let errors = herald.process.lines.filter { $0.contains(#""level":"error""#) }
        #expect(errors.count == 1)
        #expect(errors.first?.contains("the state of the data on disk is unknown") == true)
        #expect(herald.process.lines.count == 2, "listening, and why it stopped: \(herald.process.text)")
        try await expect(result.acknowledged, in: try await herald.restart())
    }

    @Test(
        "a disk that cannot read the database ends the start with 74, and the next start works",
        .enabled("needs strace", hasStrace))
    func unreadableAtStart() async throws {
        let herald = try await HeraldProcess.start()
        try await herald.publish()
        try await herald.stop()
        let data = herald.folder.path + "/data"
        let failing = ["-D"] + Self.options(herald.folder, "pread64", "error=EIO", of: data + "/herald.db")
        let server = [try Binary.path(), "serve", "--listen", "127.0.0.1:0", "--data", data]
        let failed = try await ChildProcess.run("strace", failing + server)
        #expect(failed.end == .exited(74), "\(failed.text)")
        #expect(failed.text.contains("The disk reported an error"))
        let next = try await herald.restart()
        #expect(try await next.get("/v1/events").data.count == 1)
    }

    @Test(
        "killed at any writing system call, it keeps everything that it acknowledged",
        .enabled("needs strace", hasStrace))
    func killedAtSystemCalls() async throws {
        var (acknowledged, kills) = (0, 0)
        for (call, moments) in [
            ("fdatasync", [1, 2, 3, 5, 8, 13, 21, 100]), ("pwrite64", [1, 2, 3, 4, 5, 6, 7, 20, 50, 500]),
        ] {
            for number in moments {
                let herald = try await HeraldProcess.start()
                let strace = try await attach(herald, call, "signal=KILL:when=\(number)")
                defer { strace.signal(SIGTERM) }
                let load = Load(port: herald.port, publishers: 2, prefix: "c")
                #expect(try await herald.process.ended() == .killed(signal: SIGKILL))
                let result = try await load.stop()
                try await expect(result.acknowledged, in: try await herald.restart())
                acknowledged += result.acknowledged.count
                kills += 1
            }
        }
        print("killed at \(kills) system calls: \(acknowledged) events acknowledged, all there after the restart")
    }

    /// The main thread creates them one after the other. The last one is for a second signal.
    @Test(
        "a thread that cannot be created ends the start with a reason, or the server works and stops without it",
        .enabled("needs strace", hasStrace), arguments: 1...18)
    func noThread(number: Int) async throws {
        let folder = TemporaryFolder()
        let prefix = Self.strace(folder, "clone,clone3", "error=EAGAIN:when=\(number)")
        do {
            let herald = try await HeraldProcess.start(folder: folder, ["--threads", "4"], prefix: prefix)
            let end = try await herald.stop()
            // The watchdog is created while it serves already.
            let expected: ChildProcess.End = herald.log("stopping").isEmpty ? .exited(70) : .exited(0)
            #expect(end == expected, "\(herald.process.text)")
        } catch let failure as HeraldFailure {
            #expect(failure.what.contains("pthread_create"))
        }
        let next = try await HeraldProcess.start(folder: folder)
        try await next.publish()
        #expect(try await next.stop() == .exited(0))
    }

    @Test("killed at any moment of its first start, the next start works", .enabled("needs strace", hasStrace))
    func killedAtFirstStart() async throws {
        for (call, moments) in [
            ("fdatasync", [1, 2, 3, 4]), ("pwrite64", [1, 2, 3, 5, 10, 20, 40]), ("fsync", [1, 2, 3]), ("rename", [1]),
            ("ftruncate", [1, 2]), ("unlink", [1, 2]),
        ] {
            for number in moments {
                let folder = TemporaryFolder()
                let prefix = Self.strace(folder, call, "signal=KILL:when=\(number)")
                if let herald = try? await HeraldProcess.start(folder: folder, prefix: prefix) {
                    try await herald.kill()
                }
                let next = try await HeraldProcess.start(folder: folder)
                try await next.publish()
                #expect(try await next.get("/v1/events").data.count == 1, "\(call) \(number)")
            }
        }
    }

    private func expect(_ acknowledged: Set<String>, in herald: HeraldProcess) async throws {
        var there: Set<String> = []
        var path = "/v1/events?limit=200"
        while true {
            let page = try await herald.get(path)
            there.formUnion(page.data.compactMap { $0["id"]?.string })
            guard let cursor = page.string("next_cursor") else { break }
            path = "/v1/events?limit=200&cursor=\(cursor)"
        }
        #expect(acknowledged.subtracting(there).isEmpty)
    }
}
