import Glibc
import HeraldJSON
import HeraldTestSupport
import Synchronization
import Testing

@Suite("kill -9 under load", .timeLimit(.minutes(20)), .serialized)
struct KillTests {
    /// Activity is gathered for this long before it is written.
    private static let checkpointInterval = 0.1

    private struct Kill {
        let time: Double
        /// The slowest post before it: how long a commit may take on this machine now.
        let slowestPost: Double

        /// A delivery that ended earlier before the kill than this must have been recorded. A checkpoint may have been on
        /// its way when the delivery ended; the next one gathers, and is committed. A fifth of a second for a machine that is
        /// so busy that the process does not get its turn.
        var window: Double { KillTests.checkpointInterval + 2 * slowestPost + 0.2 }
    }

    private struct Duplicate {
        /// From the earlier delivery to the kill.
        let age: Double
        let isExplained: Bool
    }

    /// `HERALD_KILL_CYCLES`, 10 unless told.
    private static var cycles: Int {
        getenv("HERALD_KILL_CYCLES").flatMap { Int(String(cString: $0)) } ?? 10
    }

    @Test("nothing acknowledged is lost, and only what the last checkpoint missed arrives twice")
    func cycles() async throws {
        let (book, late, flaky) = (Book(), Book(), Book())
        let count = Atomic(0)
        let receiver = try Receiver { request in
            let isUnlucky = request.path == "/flaky" && count.add(1, ordering: .relaxed).newValue % 5 == 0
            if isUnlucky { return .status(500) }
            (request.path == "/all" ? book : request.path == "/some" ? late : flaky).record(request)
            return .status(200)
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
        var kills: [Kill] = []
        for cycle in 0..<Self.cycles {
            let load = Load(port: herald.port, prefix: "k\(cycle)") { $0 % 4 == 0 ? #","subject":"some""# : "" }
            try await Self.wait(milliseconds: Int.random(in: 50...600))
            let time = monotonicSeconds()
            try await herald.kill()
            let result = try await load.stop()
            acknowledged.formUnion(result.acknowledged)
            unanswered += result.unanswered.count
            kills.append(Kill(time: time, slowestPost: result.slowest))
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
        let duplicates = [book, late, flaky].flatMap { Self.duplicates($0, kills) }
        let oldest = duplicates.map(\.age).max() ?? 0
        print(
            """
            \(kills.count) × kill -9 under load: \(acknowledged.count) events acknowledged, \(unanswered) posts without an \
            answer, \(book.ids.count + late.ids.count + flaky.ids.count) deliveries expected, \(lost) lost, \(duplicates.count) made twice, \
            \(duplicates.count { !$0.isExplained }) of them unexplained, the oldest \(Int(oldest * 1000)) ms before its \
            kill, the slowest post \(Int((kills.map(\.slowestPost).max() ?? 0) * 1000)) ms
            """)
        #expect(lost == 0)
        #expect(duplicates.count { !$0.isExplained } == 0)
        #expect(acknowledged.count > kills.count * 20, "too little load to mean anything")
    }

    private static func duplicates(_ book: Book, _ kills: [Kill]) -> [Duplicate] {
        book.all.values.flatMap { times in
            zip(times, times.dropFirst()).map { first, second in
                // What had reached the receiver's socket may be read a moment after the kill.
                let between = kills.filter {
                    $0.time - $0.window <= first && first <= $0.time + 0.2 && $0.time <= second
                }
                let age =
                    kills.filter { $0.time <= second }.map { $0.time - first }.min { abs($0) < abs($1) } ?? .infinity
                return Duplicate(age: age, isExplained: !between.isEmpty)
            }
        }
    }

    /// Not for something to happen, but for the kill to come at any moment.
    private static func wait(milliseconds: Int) async throws {
        _ = try await RawHTTP.onThread { usleep(UInt32(milliseconds) * 1000) }
    }

    /// Every fourth event of a publisher has one.
    private static func hasSubject(_ id: String) -> Bool {
        (id.split(separator: "-").last.flatMap { Int($0) } ?? 1) % 4 == 0
    }
}
