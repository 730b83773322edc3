import HeraldJSON
import HeraldTestSupport
import Synchronization
import Testing

@Suite("Stopping and starting", .timeLimit(.minutes(20)), .serialized)
struct RestartTests {
    @Test("deliveries that were open before a restart are made after it, once")
    func undelivered() async throws {
        let herald = try await HeraldProcess.start()
        let first = try Receiver(port: try unusedPort())
        let id = try await herald.register(first.url(), #""retry_schedule": [1, 1, 1, 1, 1]"#).id
        let delivered = try await herald.publish()
        _ = try await herald.deliveries(of: delivered, "delivered")
        first.close()
        var posted: Set<String> = []
        for _ in 0..<30 { posted.insert(try await herald.publish()) }
        #expect(try await herald.stop() == .exited(0))

        let second = try Receiver(port: first.port)
        defer { second.close() }
        let next = try await herald.restart()
        #expect(try await next.get("/v1/delegates/\(id)").status == 200)
        #expect(Set(await second.requests(30).compactMap { $0.header("webhook-id") }) == posted)
        for event in posted { _ = try await next.deliveries(of: event, "delivered") }
        _ = try await next.deliveries(of: try await next.publish(), "delivered")
        #expect(second.requests.count == 31)
    }

    @Test("a delegate, its pause and its backlog survive a restart, even by kill -9")
    func pausedAcrossKill() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try Receiver()
        defer { receiver.close() }
        let created = try await herald.register(receiver.url(), #""headers": {"X-Token": "t"}"#)
        let path = "/v1/delegates/\(created.id)"
        #expect(try await herald.send("POST", path + "/pause").status == 200)
        let event = try await herald.publish()
        try await herald.kill()
        let next = try await herald.restart()
        let shown = try await next.get(path)
        #expect(shown.string("status") == "paused")
        #expect(shown.string("created_at") == created.string("created_at"))
        #expect(receiver.requests.isEmpty)
        #expect(try await next.send("POST", path + "/resume").status == 200)
        let requests = await receiver.requests(1)
        #expect(requests.first?.header("webhook-id") == event)
        #expect(requests.first?.header("x-token") == "t")
        let secret = try #require(created.string("secret"))
        let request = try #require(requests.first)
        #expect(try await Signature.byOpenSSL(of: request, secret: secret) == request.header("webhook-signature"))
    }

    @Test("a deleted delegate stays deleted, and receives nothing after a restart")
    func deleted() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try Receiver { $0.header("herald-attempt") == "1" ? .status(500) : .hang }
        defer { receiver.close() }
        let id = try await herald.register(receiver.url(), #""retry_schedule": [0.5, 0.5, 0.5]"#).id
        try await herald.publish()
        _ = await receiver.requests(2)
        #expect(try await herald.send("DELETE", "/v1/delegates/\(id)").status == 204)
        let count = receiver.requests.count
        try await herald.kill()
        let next = try await herald.restart()
        #expect(try await next.get("/v1/delegates/\(id)").status == 404)
        let witness = try Receiver()
        defer { witness.close() }
        _ = try await next.register(witness.url())
        for _ in 0..<3 { _ = try await next.deliveries(of: try await next.publish(), "delivered") }
        #expect(receiver.requests.count == count)
    }

    /// The database of a server that works holds nothing that a start refuses or `herald check` calls impossible.
    @Test("whatever its delegates are in the middle of, it starts again", arguments: [false, true])
    func anyState(isKilled: Bool) async throws {
        var herald = try await HeraldProcess.start()
        let accepting = try Receiver()
        let rejecting = try Receiver { _ in .status(500) }
        defer {
            accepting.close()
            rejecting.close()
        }
        let schedule = #""retry_schedule": [3600]"#
        var ids: [String] = []
        for (number, ordering) in ["none", "subject", "strict"].enumerated() {
            for (receiver, events) in [
                (accepting, "order.*"), (accepting, "*"), (rejecting, "order.*"), (rejecting, "*"),
            ] {
                ids.append(
                    try await herald.register(
                        receiver.url("/\(number)/\(events == "*" ? "all" : "orders")"), schedule,
                        #""events": ["\#(events)"], "ordering": "\#(ordering)""#
                    ).id)
            }
        }
        func publish() async throws -> String {
            let order = try await herald.publish("order.placed", #""subject": "order:1""#)
            for _ in 0..<3 { _ = try await herald.publish("user.seen", #""subject": "user:1""#) }
            return order
        }
        for round in 0..<3 {
            _ = try await publish()
            for id in ids.dropFirst(round).enumerated().filter({ $0.offset % 2 == 0 }).map(\.element) {
                _ = try await herald.send("POST", "/v1/delegates/\(id)/pause")
            }
            let last = try await publish()
            for id in ids.prefix(4) {
                let replay = try await herald.post("/v1/delegates/\(id)/replay", #"{"from": "earliest"}"#)
                #expect(replay.status == 202 || replay.status == 409, "\(replay.text)")
            }
            #expect(try await herald.post("/v1/deliveries/cancel?event=\(last)", "").status == 200)
            for id in ids.enumerated().filter({ $0.offset % 3 == 0 }).map(\.element) {
                _ = try await herald.send("POST", "/v1/delegates/\(id)/resume")
            }
            if round == 1 { #expect(try await herald.send("DELETE", "/v1/delegates/\(ids[11])").status == 204) }
            if isKilled { try await herald.kill() } else { #expect(try await herald.stop() == .exited(0)) }
            if TestStore.isFolder {
                let check = try await Binary.run(["check", herald.folder.path + "/data"])
                #expect(check.end == .exited(0), "\(check.text)")
            }
            herald = try await herald.restart()
        }
        for id in ids.dropLast() { _ = try await herald.send("POST", "/v1/delegates/\(id)/resume") }
        let last = try await publish()
        try await eventually("those that accept get the newest event") {
            accepting.requests.count { $0.header("webhook-id") == last } == 6
        }
    }

    @Test("TERM under load: acknowledged events are delivered once, before or after")
    func cleanStop() async throws {
        let book = Book()
        let receiver = try Receiver { book.record($0) }
        defer { receiver.close() }
        var herald = try await HeraldProcess.start()
        let id = try await herald.register(receiver.url()).id
        // A second one that is always behind.
        let late = Book()
        let slow = try Receiver { request in
            late.record(request)
            briefPause()
            return .status(204)
        }
        defer { slow.close() }
        _ = try await herald.register(slow.url(), #""max_in_flight": 1"#)
        var acknowledged: Set<String> = []
        var unanswered: Set<String> = []
        for round in 0..<5 {
            let load = Load(port: herald.port, prefix: "s\(round)")
            try await eventually("there is load") { load.result.acknowledged.count >= 200 }
            #expect(try await herald.stop() == .exited(0))
            let result = try await load.stop()
            acknowledged.formUnion(result.acknowledged)
            unanswered.formUnion(result.unanswered)
            #expect(Set(result.refused.keys).isSubset(of: [503]), "\(result.refused)")
            herald = try await herald.restart()
        }
        let expected = acknowledged
        try await eventually("everything arrives") {
            expected.isSubset(of: book.ids) && expected.isSubset(of: late.ids)
        }
        _ = try await herald.get("/v1/delegates/\(id)") { $0["lag"]?["events"]?.integer == 0 }
        print(
            "5 × TERM under load: \(acknowledged.count) acknowledged, \(acknowledged.subtracting(book.ids).count) lost, "
                + "\(book.duplicates + late.duplicates) delivered twice, \(unanswered.count) posts without an answer")
        #expect(unanswered.isDisjoint(with: book.ids), "what was taken must be answered")
        #expect(book.duplicates == 0)
        #expect(late.duplicates == 0)
    }

    @Test("a delegate registered under load receives every event published after the response")
    func registeredUnderLoad() async throws {
        let herald = try await HeraldProcess.start()
        let load = Load(port: herald.port, prefix: "r")
        let book = Mutex<Set<String>>([])
        let receiver = try herald.receiver { request in
            if request.path == "/" + (request.header("webhook-id") ?? "") {
                book.withLock { _ = $0.insert(request.path) }
            }
            return .status(200)
        }
        var expected: Set<String> = []
        for number in 0..<200 {
            let url = receiver.url("/x\(number)")
            _ = try await herald.register(url, #""subjects": ["x"]"#)
            let posted = try await herald.publish("after.registration", #""subject": "x""#, #""id": "x\#(number)""#)
            expected.insert("/" + posted)
        }
        _ = try await load.stop()
        let all = expected
        try await eventually("every delegate is told of its event") { book.withLock { all.isSubset(of: $0) } }
    }
}
