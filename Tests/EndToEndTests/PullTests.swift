import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("Pull delegates over HTTP", .timeLimit(.minutes(20)))
struct PullTests {
    private func register(_ herald: HeraldProcess, _ fields: String = "") async throws -> String {
        let made = try await herald.post("/v1/delegates", #"{"kind": "pull", "events": ["order.*"]\#(fields)}"#)
        #expect(made.status == 201 && made.string("kind") == "pull" && made["secret"] == nil, "\(made.text)")
        return "/v1/delegates/\(try #require(made.string("id")))"
    }

    private func publish(_ herald: HeraldProcess, _ ids: ClosedRange<Int>) async throws {
        let events = ids.map { #"{"type": "order.paid", "id": "o\#($0)", "data": {"n": \#($0)}}"# }
        #expect(try await herald.post("/v1/events", "[\(events.joined(separator: ","))]").status == 202)
    }

    private func event(_ answer: Answer) -> JSONValue? { answer["events"]?.elements.first { _ in true } }

    private func ids(_ answer: Answer) -> [String] { answer["events"]?.elements.map { $0.text("id") } ?? [] }

    @Test("events are pulled, acknowledged in part, and what failed is pulled again")
    func life() async throws {
        let herald = try await HeraldProcess.start()
        let path = try await register(herald, #", "retry_schedule": [0.01]"#)
        try await publish(herald, 1...5)
        let first = try await herald.post(path + "/pull?max=2", "")
        #expect(first.status == 200 && ids(first) == ["o1", "o2"] && first["more"]?.bool == true)
        #expect(event(first)?["data"]?.compactText == #"{"n": 1}"#)
        let lease = first.string("lease") ?? ""
        let rest = try await herald.post(path + "/pull", "")
        #expect(ids(rest) == ["o3", "o4", "o5"] && rest["more"]?.bool == false)
        let newest = try await herald.get(path + "/leases?limit=1")
        let older = try await herald.get(path + "/leases?cursor=\(newest.string("next_cursor") ?? "none")").data
        #expect((newest.data + older).map { $0["events"]?.integer } == [3, 2] && older.last?.text("lease") == lease)
        #expect(try await herald.post(path + "/pull?wait=0", "")["lease"]?.isNull == true)
        let extended = try await herald.post(path + "/extend", #"{"lease": "\#(lease)", "ack_seconds": 600}"#)
        #expect(extended.status == 200 && extended.string("expires_at") ?? "" > first.string("expires_at") ?? "")
        let settled = try await herald.post(
            path + "/ack",
            #"{"lease": "\#(lease)", "failed": [{"id": "o2", "retry_after": 0, "reason": "no stock"}]}"#)
        #expect(settled.text == #"{"acked":1,"retrying":1,"exhausted":0,"returned":0}"#)
        #expect(try await herald.post(path + "/ack", #"{"lease": "\#(lease)"}"#).problem == "lease-ended")

        // The next pull acknowledges the one before.
        let again = try await herald.post(path + "/pull?wait=60&ack=\(rest.string("lease") ?? "")", "")
        #expect(ids(again) == ["o2"] && event(again)?["attempt"]?.integer == 2)
        let failed = try await herald.get(path + "/attempts?outcome=failed").data
        #expect(failed.map { $0.text("error") + " " + $0.text("detail") } == ["refused no stock"])
        #expect(try await herald.get(path + "/attempts").data.count == 5)
        #expect(try await herald.send("DELETE", path + "/leases/\(again.string("lease") ?? "")").status == 204)
        #expect(ids(try await herald.post(path + "/pull", "")) == ["o2"])

        let sought = try await herald.post(path + "/seek", #"{"to": "o4"}"#)
        #expect(sought.text == #"{"events":2,"estimated":false}"#)
        #expect(ids(try await herald.post(path + "/pull", "")) == ["o4", "o5"])
        let metrics = try await herald.get("/metrics").text
        #expect(metrics.contains("\nherald_pulled_events_total{outcome=\"refused\"} 1\n"))
        #expect(metrics.contains("\nherald_leases 1\n"))
        #expect(try await herald.get("/v1/delegates?kind=pull").data.count == 1)
        #expect(try await herald.get("/v1/delegates?kind=webhook").data.isEmpty)
    }

    @Test("a seek to events before the registration counts those that match, and they wait in each list")
    func seekBeforeStart() async throws {
        let herald = try await HeraldProcess.start()
        try await publish(herald, 1...2)
        try await herald.publish("other.type")
        let path = try await register(herald)
        let id = try #require(path.split(separator: "/").last)
        let sought = try await herald.post(path + "/seek", #"{"to": "earliest"}"#)
        #expect(sought.text == #"{"events":2,"estimated":false}"#)
        _ = try await herald.get(path) { $0["lag"]?["events"]?.integer == 2 }
        let waiting = try await herald.get("/v1/deliveries?state=pending&delegate=\(id)")
        #expect(waiting.data.map { $0.text("event") } == ["o1", "o2"])
        let story = try await herald.get("/v1/events/o1/deliveries?state=pending")
        #expect(story.data.map { $0.text("delegate") } == [String(id)])
        #expect(ids(try await herald.post(path + "/pull", "")) == ["o1", "o2"])
    }

    @Test("a pull whose key is revoked while it waits takes no events from others")
    func revoked() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let path = try await register(herald)
        let key = try await herald.makeKey("consume")
        let waiting = Task { try await herald.post(path + "/pull?wait=60", "", key.headers) }
        _ = try await herald.get("/metrics") { $0.text.contains("\nherald_http_requests_waiting 1\n") }
        #expect(try await herald.send("DELETE", "/v1/keys/\(key.id)").status == 204)
        try await publish(herald, 1...1)
        #expect(try await waiting.value.status == 401)
        #expect(ids(try await herald.post(path + "/pull", "")) == ["o1"])
    }

    @Test("what a consumer says of an event that was erased in the meantime is kept nowhere", arguments: [false, true])
    func erasure(isOld: Bool) async throws {
        let herald = try await HeraldProcess.start()
        let path = try await register(herald, #", "retry_schedule": [0.01]"#)
        for (id, subject) in [("o1", "alice"), ("o2", "bob"), ("o3", "alice")] {
            _ = try await herald.publish("order.paid", #""id": "\#(id)", "subject": "\#(subject)""#)
        }
        let lease = try await herald.post(path + "/pull", "").string("lease") ?? ""
        let erased = try await herald.send("DELETE", "/v1/subjects/alice")
        #expect(erased.integer("events") == 2)
        // After a restart, the mark is only in the store.
        if isOld { _ = try await herald.stop() }
        let server = isOld ? try await herald.restart() : herald
        let settled = try await server.post(
            path + "/ack",
            #"{"lease": "\#(lease)", "failed": [{"id": "o1", "reason": "Alice"}, {"id": "o2", "reason": "Bob"}], "returned": ["o3"]}"#
        )
        #expect(settled.text == #"{"acked":2,"retrying":1,"exhausted":0,"returned":0}"#)
        #expect(try await server.get(path + "/attempts").data.map { $0.text("detail") } == ["Bob"])
        #expect(try await server.get("/v1/events/o1").text.contains("Alice") == false)
        #expect(try await server.get("/v1/events/o3")["deliveries"]?.count == 0)
        #expect(ids(try await server.post(path + "/pull?wait=60", "")) == ["o2"])
        #expect(try await server.get("/v1/deliveries?state=dropped").data.isEmpty)
    }

    @Test("invalid input is refused with its pointer, and an action of another kind is a conflict")
    func refusals() async throws {
        let herald = try await HeraldProcess.start()
        let path = try await register(herald)
        let webhook = try await herald.register("http://127.0.0.1:9/").id
        try await publish(herald, 1...1)
        let run = try await herald.post(path + "/pull", "")
        let lease = run.string("lease") ?? ""
        for (body, pointers) in [
            ("{}", ["/lease"]), (#"{"lease": 5}"#, ["/lease"]), (#"{"lease": "x", "done": []}"#, ["/done"]),
            (#"{"lease": "x", "failed": {}}"#, ["/failed"]), (#"{"lease": "x", "failed": [5]}"#, ["/failed/0"]),
            (#"{"lease": "x", "failed": [{"reason": 5}]}"#, ["/failed/0/reason", "/failed/0/id"]),
            (#"{"lease": "x", "failed": [{"id": "a", "retry_after": -1}]}"#, ["/failed/0/retry_after"]),
            (#"{"lease": "x", "failed": [{"id": "a"}], "returned": ["b", "a"]}"#, ["/returned/1"]),
            (#"{"lease": "x", "failed": [{"id": "a"}], "release": true}"#, ["/release"]),
            (
                #"{"lease": "\#(lease)", "failed": [{"id": "o1"}, {"id": "o2"}], "returned": ["o3"]}"#,
                ["/failed/1/id", "/returned/0"]
            ),
        ] {
            let refused = try await herald.post(path + "/ack", body)
            #expect(refused.status == 422 && refused.errors == pointers, "\(body): \(refused.text)")
        }
        for query in ["max=0", "max=1001", "max=x", "wait=61", "ack_seconds=4", "limit=5"] {
            #expect(try await herald.post(path + "/pull?" + query, "").status == 422, "\(query)")
        }
        #expect(try await herald.post(path + "/pull?ack=ls_x", "").problem == "lease-ended")
        #expect(
            try await herald.post(path + "/extend", #"{"lease": "\#(lease)", "ack_seconds": 1}"#).errors == [
                "/ack_seconds"
            ])
        #expect(try await herald.post(path + "/seek", #"{"to": "nowhere"}"#).status == 422)
        #expect(try await herald.post("/v1/delegates/dlg_x/pull", "").problem == "not-found")

        for action in ["pull", "ack", "extend", "seek"] {
            let body = action == "pull" ? "" : action == "seek" ? #"{"to": "now"}"# : #"{"lease": "x"}"#
            #expect(
                try await herald.post("/v1/delegates/\(webhook)/\(action)", body).problem == "wrong-kind", "\(action)")
        }
        #expect(try await herald.get("/v1/delegates/\(webhook)/leases").problem == "wrong-kind")
        for (action, body) in [
            ("test", ""), ("secret/rotate", ""), ("preview", ""), ("replay", #"{"from": "earliest"}"#),
        ] {
            #expect(try await herald.post(path + "/" + action, body).problem == "wrong-kind", "\(action)")
        }
        #expect(try await herald.send("PATCH", path, #"{"kind": "webhook"}"#).errors == ["/kind"])
        #expect(try await herald.send("PATCH", path, #"{"timeout_seconds": 5}"#).errors == ["/timeout_seconds"])
        #expect(try await herald.send("PATCH", path, #"{"ack_seconds": 5}"#).status == 200)
        let several = try await herald.post(
            "/v1/delegates", #"{"kind": "pull", "url": "http://x/", "signature": "v1"}"#)
        #expect(Set(several.errors) == ["/url", "/signature"])
        #expect(try await herald.post(path + "/pause", "").status == 200)
        let unsettled = try await herald.post(path + "/pull?ack=\(lease)", "")
        #expect(unsettled.problem == "delegate-paused")
        #expect(try await herald.post(path + "/ack", #"{"lease": "\#(lease)"}"#)["acked"]?.integer == 1)
    }

    @Test("a lease survives kill -9 of the server, and nothing is pulled twice after its acknowledgement")
    func kills() async throws {
        var herald = try await HeraldProcess.start()
        let path = try await register(herald)
        try await publish(herald, 1...40)
        var seen: [String] = []
        for _ in 0..<4 {
            let run = try await herald.post(path + "/pull?max=5", "")
            let other = try await herald.post(path + "/pull?max=5", "")
            try await herald.kill()
            herald = try await herald.restart()
            for each in [run, other] {
                seen += ids(each)
                let settled = try await herald.post(path + "/ack", #"{"lease": "\#(each.string("lease") ?? "")"}"#)
                #expect(settled["acked"]?.integer == 5, "\(settled.text)")
            }
        }
        #expect(seen == (1...40).map { "o\($0)" })
        #expect(try await herald.post(path + "/pull", "")["lease"]?.isNull == true)
    }

    @Test("a key with consume pulls and does nothing else; with a delegate, it opens that one only, and ends with it")
    func keys() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let (path, other) = (try await register(herald), try await register(herald, #", "description": "other""#))
        let id = path.split(separator: "/").last ?? ""
        try await publish(herald, 1...3)
        func key(_ fields: String) async throws -> [String: String] {
            let made = try await herald.post("/v1/keys", #"{"scopes": ["consume"]\#(fields)}"#)
            #expect(made.status == 201, "\(made.text)")
            return ["Authorization": "Bearer \(made.string("key") ?? "")"]
        }
        let (all, one) = (try await key(""), try await key(#", "delegate": "\#(id)""#))
        let client = HeraldProcess.stranger(to: herald)
        for (key, paths) in [(all, [path, other]), (one, [path])] {
            for path in paths {
                let run = try await client.post(path + "/pull?max=1", "", key)
                let lease = #"{"lease": "\#(run.string("lease") ?? "")"}"#
                #expect(try await client.post(path + "/extend", lease, key).status == 200)
                #expect(try await client.post(path + "/ack", lease, key)["acked"]?.integer == 1)
            }
        }
        for action in ["pull", "ack", "extend"] {
            #expect(
                try await client.post("\(other)/\(action)", action == "pull" ? "" : #"{"lease": "x"}"#, one).status
                    == 404)
        }
        var refused = 0
        for (template, item) in try await herald.get("/openapi.json")["paths"]?.members.map({ ($0.key, $0.value) })
            ?? []
        {
            for (method, operation) in item.members {
                guard let scope = operation["x-scope"]?.string, scope != "consume" else { continue }
                let target = template.replacing("{id}", with: String(id)).replacing(#/\{\w+\}/#, with: "x")
                for key in [all, one] {
                    let answer = try await client.send(method.uppercased(), target, "{}", key)
                    #expect(answer.status == 403, "\(method) \(target)")
                    refused += 1
                }
            }
        }
        #expect(refused > 100)
        for fields in [
            #""scopes": ["read", "consume"], "delegate": "\#(id)""#, #""scopes": ["consume"], "delegate": "dlg_x""#,
        ] {
            #expect(try await herald.post("/v1/keys", "{\(fields)}").errors == ["/delegate"], "\(fields)")
        }
        #expect(try await herald.send("DELETE", path).status == 204)
        #expect(try await client.post(path + "/pull", "", one).status == 404)
    }

    @Test("a consumer that goes away while it waits takes no events with it")
    func gone() async throws {
        let herald = try await HeraldProcess.start()
        let path = try await register(herald)
        let url = "http://127.0.0.1:\(herald.port)\(path)/pull?wait=60"
        let waiting = try await ChildProcess.run("curl", ["-s", "-X", "POST", "--max-time", "1", url])
        #expect(waiting.end == .exited(28))
        async let next = herald.post(path + "/pull?wait=60", "")
        try await publish(herald, 1...1)
        let run = try await next
        #expect(ids(run) == ["o1"] && event(run)?["attempt"]?.integer == 1)
    }

    @Test("the commands of the guide work as they are written")
    func guide() async throws {
        let herald = try await HeraldProcess.start()
        let page = try String(decoding: Files.read("Documentation/guide/pull.md"), as: UTF8.self)
        let blocks = page.matches(of: #/```sh\n((?s).*?)```/#).map { String($0.1) }
        #expect(blocks.count == 5)
        // The pages before this one publish such events too.
        try await herald.publish("order.placed")
        let server = herald.url
        let script = blocks.joined().replacing("http://127.0.0.1:8080", with: server)
        let folder = herald.folder.path
        let program = "\(folder)/herald"
        try #require(symlink(try Binary.path(), program) == 0)
        let run = try await ChildProcess.run(
            "bash", ["-c", "set -e -o pipefail; cd \(folder); PATH=\(folder):$PATH; \(script)"],
            environment: ["HERALD_SERVER": server, "XDG_CONFIG_HOME": "/nonexistent"])
        #expect(run.end == .exited(0), "\(run.text)")
        #expect(try Files.read(folder + "/orders") == Array("8\n".utf8))
    }

    // MARK: herald work

    private func worker(_ herald: HeraldProcess, _ path: String, _ arguments: [String]) throws -> ChildProcess {
        try ChildProcess(
            try Binary.path(), ["work", String(path.split(separator: "/").last ?? "")] + arguments,
            environment: [
                "HERALD_SERVER": herald.url, "XDG_CONFIG_HOME": "/nonexistent",
                "DONE": herald.folder.path + "/done",
            ])
    }

    @Test("a program gets each event on stdin, and its exit code decides")
    func work() async throws {
        let herald = try await HeraldProcess.start()
        let path = try await register(herald, #", "retry_schedule": [600]"#)
        try await publish(herald, 1...20)
        let script = """
            read -r event; echo "$HERALD_EVENT_ID $HERALD_EVENT_TYPE $HERALD_ATTEMPT $event" >> "$DONE"
            case $HERALD_EVENT_ID in o3) echo first >&2; echo no stock >&2; exit 1;; o5) exit 75;; o7) kill -9 $$;; esac
            """
        let workers = try (0..<2).map { _ in
            try worker(herald, path, ["--once", "--parallel", "3", "--max", "4", "--exec", script])
        }
        for worker in workers { #expect(try await worker.ended() == .exited(0), "\(worker.text)") }
        let lines = try String(decoding: Files.read(herald.folder.path + "/done"), as: UTF8.self).split(separator: "\n")
        #expect(Set(lines.compactMap { $0.split(separator: " ").first }) == Set((1...20).map { "o\($0)" }))
        #expect(lines.count == 20)
        #expect(
            lines.contains { $0.hasPrefix(#"o9 order.paid 1 {"id""#) && $0.contains(#""data":{"n": 9}"#) }, "\(lines)")
        let failed = try await herald.get(path + "/attempts?outcome=failed").data
        #expect(
            Set(failed.map { $0.text("event") + " " + $0.text("detail") })
                == ["o3 no stock", "o5 exit code 75", "o7 ended by signal 9"])
        #expect(try await herald.get(path + "/attempts?outcome=succeeded").data.count == 17)
    }

    @Test("a run whose reasons are too large for a request is acknowledged without them")
    func largeReasons() async throws {
        let herald = try await HeraldProcess.start(["--max-body", "1024"])
        let path = try await register(herald, #", "retry_schedule": [600]"#)
        try await publish(herald, 1...10)
        let script = "[ $HERALD_EVENT_ID = o1 ] || { printf '%0200d' 1 >&2; exit 1; }"
        let worker = try worker(herald, path, ["--once", "--max", "10", "--exec", script])
        #expect(try await worker.ended() == .exited(0), "\(worker.text)")
        #expect(try await herald.get(path + "/attempts?outcome=failed").data.count == 9)
        #expect(try await herald.get(path + "/attempts?outcome=succeeded").data.count == 1)
    }

    @Test(
        "TERM and Ctrl-C let the running program end, and give the rest back; strict order stops at an event that fails",
        arguments: [(SIGTERM, 0), (SIGINT, 130)] as [(Int32, Int32)])
    func ends(_ signal: Int32, _ code: Int32) async throws {
        let herald = try await HeraldProcess.start()
        let path = try await register(herald, #", "ordering": "strict", "retry_schedule": [600]"#)
        try await publish(herald, 1...6)
        let folder = herald.folder.path
        let script = "echo $HERALD_EVENT_ID >> \"$DONE\"; until [ -e \(folder)/go ]; do sleep 0.05; done"
        let waiting = try worker(herald, path, ["--exec", script, "--parallel", "4"])
        try await eventually("the first program runs") { (try? Files.read(folder + "/done"))?.isEmpty == false }
        waiting.signal(signal)
        try await eventually("it has the signal") {
            let status = String(decoding: try Files.read("/proc/\(waiting.id)/status"), as: UTF8.self)
            let line = status.split(separator: "\n").first { $0.hasPrefix("ShdPnd:") }
            let pending = line?.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) }
            return pending.map { $0 & (1 << (signal - 1)) == 0 } ?? false
        }
        try Files.write([], to: folder + "/go")
        #expect(try await waiting.ended() == .exited(code), "\(waiting.text)")
        #expect(try Files.read(folder + "/done") == Array("o1\n".utf8))
        #expect(try await herald.get(path + "/leases").data.isEmpty)

        let failing = try worker(
            herald, path, ["--exec", "echo $HERALD_EVENT_ID >> \"$DONE\"; [ $HERALD_EVENT_ID != o3 ]", "--once"])
        #expect(try await failing.ended() == .exited(0), "\(failing.text)")
        #expect(try Files.read(folder + "/done") == Array("o1\no2\no3\n".utf8))
        #expect(try await herald.get(path + "/attempts").data.count == 3)
    }

    @Test("a lease is extended while a program runs; once it is taken back, the worker starts no further event of it")
    func extends() async throws {
        let herald = try await HeraldProcess.start()
        let path = try await register(herald, #", "ack_seconds": 10"#)
        try await publish(herald, 1...3)
        let folder = herald.folder.path
        let script = "echo $HERALD_EVENT_ID >> \"$DONE\"; until [ -e \(folder)/go ]; do sleep 0.05; done"
        let worker = try worker(herald, path, ["--exec", script, "--once"])
        let leases = try await herald.get(path + "/leases", until: { $0.data.count == 1 })
        let first = try #require(leases.data.first { _ in true })
        let end = first.text("expires_at")
        _ = try await herald.get(
            path + "/leases",
            until: { answer in
                answer.data.contains { $0.text("expires_at") > end }
            })
        #expect(try await herald.send("DELETE", path + "/leases/" + first.text("lease")).status == 204)
        // Longer than the worker needs to end on a slow machine.
        let other = try await herald.post(path + "/pull?ack_seconds=3600", "")
        #expect(ids(other) == ["o1", "o2", "o3"])
        try await eventually("the worker reports it") { worker.text.contains("has ended") }
        try Files.write([], to: folder + "/go")
        #expect(try await worker.ended() == .exited(0), "\(worker.text)")
        #expect(try Files.read(folder + "/done") == Array("o1\n".utf8))
        #expect(
            try await herald.post(path + "/ack", #"{"lease": "\#(other.string("lease") ?? "")"}"#)["acked"]?.integer
                == 3)
    }

    @Test("a worker waits for a server that is away, reports it once, and continues")
    func away() async throws {
        let folder = TemporaryFolder()
        let listen = "127.0.0.1:\(try unusedPort())"
        var herald = try await HeraldProcess.start(folder: folder, listen: listen)
        let path = try await register(herald)
        try await publish(herald, 1...1)
        let worker = try worker(herald, path, ["--exec", "echo $HERALD_EVENT_ID >> \"$DONE\""])
        try await eventually("the first event is handled") {
            (try? Files.read(folder.path + "/done"))?.isEmpty == false
        }
        try await herald.kill()
        herald = try await HeraldProcess.start(folder: folder, listen: listen)
        try await publish(herald, 2...2)
        try await eventually("the second event is handled") {
            (try? Files.read(folder.path + "/done")) == Array("o1\no2\n".utf8)
        }
        worker.signal(SIGTERM)
        #expect(try await worker.ended() == .exited(0), "\(worker.text)")
        #expect(worker.lines.count <= 2, "\(worker.text)")
    }

    @Test("a worker has the exit codes of its programs, also when its parent ignores those of its own")
    func ignoredChildren() async throws {
        let run = #"{"lease": "ls_1", "ack_seconds": 60, "events": [{"id": "o1", "type": "a"}]}"#
        let server = try Receiver { .status(200, body: $0.position == 1 ? run : #"{"lease": null}"#) }
        defer { server.close() }
        // dash, which may be `sh`, never ignores it.
        let worker = try await ChildProcess.run(
            "bash",
            [
                "-c", "trap '' CHLD; exec \"$@\"", "bash", try Binary.path(), "work", "dlg_1", "--once", "--exec",
                "true", "--server", "http://127.0.0.1:\(server.port)",
            ])
        #expect(worker.end == .exited(0), "\(worker.text)")
        let ack = try #require(server.requests.first { $0.path.hasSuffix("/ack") })
        #expect(try JSONDocument(parsing: ack.text)["failed"]?.count == 0, "\(ack.text)")
    }

    @Test("a worker bounds the length of a lease that a server names")
    func length() async throws {
        let run = #"{"lease": "ls_1", "ack_seconds": 9223372036854775807, "events": [{"id": "o1", "type": "a"}]}"#
        let server = try Receiver { .status(200, body: $0.position == 1 ? run : #"{"lease": null}"#) }
        defer { server.close() }
        let worker = try await Client.run(
            ["work", "dlg_1", "--once", "--exec", "true"], server: "http://127.0.0.1:\(server.port)")
        #expect(worker.end == .exited(0), "\(worker.text)")
        #expect(server.requests.map(\.path).filter { $0.hasSuffix("/ack") }.count == 1)
    }

    @Test("a worker that cannot start a program gives the event back, without an attempt")
    func notStarted() async throws {
        let server = try Receiver { _ in .status(200, body: #"{"lease": "l", "events": [{"id": "o1", "type": "a"}]}"#) }
        defer { server.close() }
        let worker = try await Binary.run(
            ["work", "dlg_1", "--once", "--exec", "true", "--server", "http://127.0.0.1:\(server.port)"],
            environment: ["TMPDIR": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"])
        let ack = try JSONDocument(parsing: try #require(server.requests.last).text)
        #expect(ack["returned"]?.count == 1 && worker.end == .exited(70), "\(worker.text)")
    }
}
