import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Live streams of attempts", .timeLimit(.minutes(20)))
struct AttemptStreamsTests {
    private static let retries = Array(repeating: 0.001, count: 20)

    private func run(failures: Bool = true, _ body: (HubBench, AttemptStreams, QueueThread) async throws -> Void)
        async throws
    {
        let count = Atomic(0)
        // Every third attempt fails.
        let bench = try HubBench { _ in
            let isFailure = failures && count.add(1, ordering: .relaxed).newValue % 3 == 0
            return .now(isFailure ? .answered(500) : .success)
        }
        let streams = AttemptStreams(hub: bench.hub, format: .lines { String($0.attempt.id) })
        try await withStreams(of: bench, streams, body)
    }

    private func client(
        _ streams: AttemptStreams, _ thread: QueueThread, _ interest: AttemptInterest = AttemptInterest(), seed: UInt64
    ) -> FickleClient<AttemptLog> {
        FickleClient(streams, thread, interest, seed: seed) { id in
            { _ throws(StoreError) in id == "earliest" ? StreamPlace(0, id: id) : Int64(id).map { StreamPlace($0) } }
        }
    }

    /// The attempts of the store, in the form of the stream.
    private func recorded(_ bench: HubBench, _ isWanted: (AttemptRecord) -> Bool = { _ in true }) throws -> [String] {
        let all = try bench.store.makeReader().attempts(after: 0, limit: .max)
        return all.filter { isWanted($0.record) }.map { String($0.id) }
    }

    @Test(
        "clients that read slowly and lose their connection at any moment get every attempt once, in order",
        arguments: [1, 2, 3, 4] as [UInt64])
    func reconnecting(seed: UInt64) async throws {
        try await run { bench, streams, thread in
            let first = try #require(await bench.register("https://first.example/") { $0.retrySchedule = Self.retries })
            await bench.register("https://second.example/") { $0.retrySchedule = Self.retries }
            for number in 0..<300 { _ = try await bench.post("a.b", id: "before-\(number)") }
            try await eventually("attempts are recorded") { try self.recorded(bench).count > 300 }
            let interests = [
                AttemptInterest(), AttemptInterest(delegate: first.key), AttemptInterest(succeeded: false),
                AttemptInterest(event: "e7"),
            ]
            let clients = interests.indices.map {
                client(streams, thread, interests[$0], seed: seed * 100 + UInt64($0))
            }
            for client in clients { client.connect(from: "earliest") }
            for number in 0..<300 { _ = try await bench.post("a.b", id: "e\(number)") }
            let reader = try bench.store.makeReader()
            let e7 = try #require(try reader.event(app: .default, id: "e7")).sequence
            try await eventually("everything is delivered") {
                try self.recorded(bench) { $0.succeeded }.count == 1_200
            }
            let expected = [
                try recorded(bench), try recorded(bench) { $0.delegate == first.key },
                try recorded(bench) { !$0.succeeded }, try recorded(bench) { $0.event == e7 },
            ]
            try await eventually("all were told everything") {
                zip(clients, expected).allSatisfy { $0.told.count >= $1.count }
            }
            for (client, expected) in zip(clients, expected) {
                #expect(client.told == expected)
                #expect(!client.lines.items.contains { $0.hasPrefix("lost") || $0.hasPrefix("gap") })
                client.leave()
            }
            try await eventually("no client is connected") { streams.all.isEmpty }
        }
    }

    @Test("a new client starts at the end, and a client with an id after it, while others listen")
    func joining() async throws {
        try await run(failures: false) { bench, streams, thread in
            await bench.register { $0.retrySchedule = Self.retries }
            let early = client(streams, thread, seed: 9)
            early.connect()
            try await eventually("it has begun") { early.lines.items.first == "after 0" }
            for number in 0..<50 { _ = try await bench.post("a.b", id: "e\(number)") }
            try await eventually("it was told") { early.told.count == 50 }
            let all = try recorded(bench)
            let late = client(streams, thread, seed: 10)
            late.connect()
            let resumed = client(streams, thread, seed: 11)
            resumed.connect(from: all[19])
            try await eventually("they have begun") { !late.lines.items.isEmpty && resumed.told.count >= 30 }
            _ = try await bench.post("a.b", id: "last")
            try await eventually("all were told") { late.told.count == 1 && resumed.told.count == 31 }
            let last = try recorded(bench)
            #expect(late.lines.items.first == "after \(all[49])" && late.told == [last[50]])
            #expect(resumed.told == Array(last[20...]) && early.told == last)
            for client in [early, late, resumed] { client.leave() }
        }
    }
}
