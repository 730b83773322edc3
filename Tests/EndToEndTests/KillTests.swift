import Glibc
import HeraldJSON
import HeraldTestSupport
import Synchronization
import Testing

@Suite("kill -9 under load", .timeLimit(.minutes(20)), .serialized)
struct KillTests {
    /// Deliveries that the server had recorded before a kill.
    private struct Recorded {
        let book: Book
        /// How often each event had arrived by then.
        let arrivals: [String: Int]

        /// How many of them were made again.
        var repeated: Int {
            let now = book.arrivals
            return arrivals.count { now[$0.key] != $0.value }
        }
    }

    /// `HERALD_KILL_CYCLES`, 10 unless told.
    private static var cycles: Int {
        getenv("HERALD_KILL_CYCLES").flatMap { Int(String(cString: $0)) } ?? 10
    }

    @Test("nothing acknowledged is lost, and no delivery that was recorded is made again")
    func cycles() async throws {
        let (book, late, flaky) = (Book(), Book(), Book())
        let count = Atomic(0)
        let receiver = try Receiver { request in
            let isUnlucky = request.path == "/flaky" && count.add(1, ordering: .relaxed).newValue % 5 == 0
            if isUnlucky { return .status(500) }
            return (request.path == "/all" ? book : request.path == "/some" ? late : flaky).record(request)
        }
        defer { receiver.close() }
        var herald = try await HeraldProcess.start()
        let all = try await herald.register(receiver.url("/all")).id
        // One at a time, so that it is behind, and every fourth event only.
        let some = try await herald.register(
            receiver.url("/some"), #""max_in_flight": 1"#, #""subjects": ["some"]"#
        ).id

        // Every fifth request fails. So many retries that chance exhausts none of some ten thousand deliveries.
        let retries = Array(repeating: "0.1", count: 15).joined(separator: ", ")
        let third = try await herald.register(
            receiver.url("/flaky"), #""retry_schedule": [0.05, \#(retries)]"#, #""subjects": ["some"]"#
        ).id

        var acknowledged: Set<String> = []
        var unanswered = 0
        var recorded: [Recorded] = []
        for cycle in 0..<Self.cycles {
            let load = Load(port: herald.port, prefix: "k\(cycle)") { $0 % 4 == 0 ? #","subject":"some""# : "" }
            // The kill comes at any moment.
            let wanted = Int.random(in: 20...400)
            try await eventually("there is load") { load.result.acknowledged.count >= wanted }
            for (id, one) in [(all, book), (some, late), (third, flaky)] {
                let path = "/v1/deliveries?state=delivered&delegate=\(id)&limit=200"
                // In some rounds not before there is one.
                let page = try await herald.get(path) { cycle.isMultiple(of: 2) || !$0.data.isEmpty }
                let ids = Set(page.data.compactMap { $0["event"]?.string })
                recorded.append(Recorded(book: one, arrivals: one.arrivals.filter { ids.contains($0.key) }))
            }
            try await herald.kill()
            let result = try await load.stop()
            acknowledged.formUnion(result.acknowledged)
            unanswered += result.unanswered.count
            #expect(result.refused.isEmpty, "\(result.refused)")
            herald = try await herald.restart()
        }
        let (expected, expectedOfSome) = (acknowledged, acknowledged.filter(Self.hasSubject))
        // When it is too late, the count below tells what is missing.
        try? await eventually("everything arrives") {
            expected.isSubset(of: book.ids) && expectedOfSome.isSubset(of: late.ids)
                && expectedOfSome.isSubset(of: flaky.ids)
        }
        for id in [all, some, third] {
            _ = try await herald.get("/v1/delegates/\(id)") {
                let lag = $0["lag"]
                return lag?["events"]?.integer == 0 && lag?["in_flight"]?.integer == 0 && lag?["retrying"]?.integer == 0
            }
        }
        let lost =
            expected.subtracting(book.ids).count + expectedOfSome.subtracting(late.ids).count
            + expectedOfSome.subtracting(flaky.ids).count
        let (known, repeated) = recorded.reduce((0, 0)) { ($0.0 + $1.arrivals.count, $0.1 + $1.repeated) }
        print(
            """
            \(Self.cycles) × kill -9 under load: \(acknowledged.count) events acknowledged, \(unanswered) posts without an \
            answer, \(book.ids.count + late.ids.count + flaky.ids.count) deliveries expected, \(lost) lost, \
            \(book.duplicates + late.duplicates + flaky.duplicates) made twice, \(repeated) of them although recorded
            """)
        #expect(lost == 0)
        #expect(repeated == 0)
        #expect(known > 0 || Self.cycles < 2)
    }

    /// Every fourth event of a publisher has one.
    private static func hasSubject(_ id: String) -> Bool {
        (id.split(separator: "-").last.flatMap { Int($0) } ?? 1) % 4 == 0
    }
}
