import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Secrets at rest", .timeLimit(.minutes(20)), .serialized)
struct SealingTests {
    private static let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let newKey = "Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA="

    private func run(_ folder: TemporaryFolder, _ environment: [String: String]) async throws -> (
        end: ChildProcess.End, text: String
    ) {
        try await Binary.run(["rewrap", "--data", folder.path + "/data"], environment: environment)
    }

    @Test(
        "with a master key, no secret, header or stored response is readable in the files; the key can be changed",
        .enabled(if: TestStore.isFolder))
    func sealing() async throws {
        let folder = TemporaryFolder()
        let herald = try await HeraldProcess.start(folder: folder, environment: ["HERALD_MASTER_KEY": Self.key])
        let body = #"{"url": "http://127.0.0.1:9/", "headers": {"authorization": "Bearer Zerberus"}}"#
        let registered = try await herald.post("/v1/delegates", body, ["Idempotency-Key": "k"])
        let secret = try #require(registered.string("secret")).dropFirst("whsec_".count)
        #expect(try await herald.post("/v1/delegates", body, ["Idempotency-Key": "k"]).string("secret") != nil)
        // A token in the path of a URL, whose delivery fails for good: an event and a line of the log are about it.
        _ = try await herald.register(
            "http://127.0.0.1:9/services/Cerberus/Hades?token=Styx", #""retry_schedule": [], "events": ["test.*"]"#)
        _ = try await herald.post("/v1/events", #"{"type": "test.happened"}"#)
        let exhausted = try await eventually("it is given up") { herald.log("delivery exhausted").first }
        #expect(exhausted["url"]?.string == "http://127.0.0.1:9/…")
        // It is published after the line is written.
        let published = try await herald.get("/v1/events?type=herald.delivery.exhausted") { !$0.data.isEmpty }
        #expect(published.text.contains("http://127.0.0.1:9/…"), "\(published.text)")
        try await herald.stop()
        #expect(!herald.process.text.contains("Cerberus") && !herald.process.text.contains("Styx"))
        for name in try Files.names(in: folder.path + "/data") {
            let text = String(decoding: try Files.read(folder.path + "/data/" + name), as: UTF8.self)
            for word in ["Zerberus", String(secret), "Cerberus", "Hades", "Styx"] {
                #expect(!text.contains(word), "\(name)")
            }
        }

        await #expect(throws: (any Error).self) { try await HeraldProcess.start(folder: folder) }
        let environment = ["HERALD_MASTER_KEY": Self.key, "HERALD_NEW_MASTER_KEY": Self.newKey]
        let wrong = try await run(folder, ["HERALD_MASTER_KEY": Self.newKey, "HERALD_NEW_MASTER_KEY": Self.key])
        #expect(wrong.end == .exited(65))
        #expect(wrong.text.contains("HERALD_MASTER_KEY"))
        #expect(try await run(folder, environment).end == .exited(0))
        await #expect(throws: (any Error).self) {
            try await HeraldProcess.start(folder: folder, environment: ["HERALD_MASTER_KEY": Self.key])
        }
        let again = try await HeraldProcess.start(folder: folder, environment: ["HERALD_MASTER_KEY": Self.newKey])
        #expect(try await again.post("/v1/delegates", body, ["Idempotency-Key": "k"]).string("secret") != nil)
        #expect(try await run(folder, environment).end == .exited(73))
    }

    @Test(
        "a delegate whose secret and header do not open is not called; set again, it continues where it stopped",
        .enabled(if: TestStore.isFolder))
    func damagedValues() async throws {
        let folder = TemporaryFolder()
        let environment = ["HERALD_MASTER_KEY": Self.key]
        let herald = try await HeraldProcess.start(folder: folder, environment: environment)
        let receiver = try herald.receiver()
        _ = try await herald.register(receiver.url("/whole"))
        let headers = #""headers": {"authorization": "Bearer Zerberus"}"#
        let id = try await herald.register(receiver.url("/damaged"), headers).id
        try await herald.stop()
        let code = """
            import sqlite3, sys
            db = sqlite3.connect(sys.argv[1])
            db.execute("UPDATE delegates SET secrets = x'00', headers = 'AAAA' WHERE id = ?", [sys.argv[2]])
            db.commit()
            db.close()
            """
        let (end, text) = try await ChildProcess.run("python3", ["-c", code, folder.path + "/data/herald.db", id])
        #expect(end == .exited(0), "\(text)")

        let next = try await HeraldProcess.start(folder: folder, environment: environment)
        let path = "/v1/delegates/\(id)"
        let found = try await next.get(path)
        let reason = "stored values of it can't be read; set them again, then POST …/resume: headers, secrets"
        #expect(found.string("status") == "disabled" && found.string("status_reason") == reason, "\(found.text)")
        let lines = next.log("delegate disabled: stored values of it cannot be read")
        #expect(lines.map { $0["delegate"]?.string } == [id])
        _ = try await next.publish()
        #expect(await receiver.requests(1).map(\.path) == ["/whole"])

        #expect(try await next.send("POST", path + "/resume").status == 422)
        #expect(try await next.send("POST", path + "/secret/rotate").status == 200)
        #expect(try await next.send("POST", path + "/resume").status == 422)
        #expect(try await next.send("PATCH", path, "{\(headers)}").status == 200)
        #expect(try await next.send("POST", path + "/resume").status == 200)
        let repaired = await receiver.requests(2).first { $0.path == "/damaged" }
        #expect(repaired?.header("authorization") == "Bearer Zerberus")
        #expect(repaired?.header("webhook-signature") != nil)
    }

    @Test("rewrap takes the old key and the new one from files", .enabled(if: TestStore.isFolder))
    func files() async throws {
        let folder = TemporaryFolder()
        let herald = try await HeraldProcess.start(folder: folder, environment: ["HERALD_MASTER_KEY": Self.key])
        _ = try await herald.register("http://127.0.0.1:9/")
        try await herald.stop()
        let environment = [
            "HERALD_MASTER_KEY_FILE": try folder.write(Self.key + "\n", to: "old"),
            "HERALD_NEW_MASTER_KEY_FILE": try folder.write(Self.newKey + "\n", to: "new"),
        ]
        let both = try await run(folder, environment.merging(["HERALD_NEW_MASTER_KEY": Self.newKey]) { $1 })
        #expect(both.end == .exited(64) && both.text.contains("are both set"), "\(both.text)")
        let wrong = try folder.write("short", to: "wrong")
        let short = try await run(folder, environment.merging(["HERALD_NEW_MASTER_KEY_FILE": wrong]) { $1 })
        #expect(short.end == .exited(64) && short.text.contains("one line, 32 bytes in base64"), "\(short.text)")
        let done = try await run(folder, environment)
        #expect(done.end == .exited(0) && done.text.contains("encrypted with the new key"), "\(done.text)")
        let again = try await HeraldProcess.start(folder: folder, environment: ["HERALD_MASTER_KEY": Self.newKey])
        #expect(try await again.get("/v1/delegates?kind=webhook").data.count == 1)
        try await again.stop()
        let removal = ["HERALD_MASTER_KEY": Self.newKey, "HERALD_NEW_MASTER_KEY": "none"]
        let plain = try await run(folder, removal)
        #expect(plain.end == .exited(0) && plain.text.contains("are now stored in plain text"), "\(plain.text)")
    }

    @Test("rewrap reports what it needs")
    func needs() async throws {
        let folder = TemporaryFolder()
        #expect(try await run(folder, [:]).text.contains("HERALD_NEW_MASTER_KEY is not set"))
        #expect(try await run(folder, ["HERALD_NEW_MASTER_KEY": "short"]).end == .exited(64))
        let flag = try await Binary.run(["serve", "--master-key", Self.key])
        #expect(flag.end == .exited(64))
        #expect(flag.text.contains("set HERALD_MASTER_KEY instead") && !flag.text.contains(Self.key))
    }
}
