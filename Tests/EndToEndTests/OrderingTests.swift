import HeraldReceiver
import HeraldTestSupport
import Synchronization
import Testing

@Suite("Order", .timeLimit(.minutes(20)), .serialized)
struct OrderingTests {
    private struct Arrivals {
        var successes: [String] = []
        var failed: Set<String> = []
    }

    /// Posts thirty events about three subjects to a receiver that fails every third of them once.
    private func deliver(_ ordering: String) async throws -> (posted: [String], arrived: [String]) {
        let herald = try await HeraldProcess.start()
        let arrivals = Mutex(Arrivals())
        let receiver = try herald.receiver { request in
            let id = request.header("webhook-id") ?? ""
            return arrivals.withLock { arrivals in
                if id.hasSuffix("0") || id.hasSuffix("3"), arrivals.failed.insert(id).inserted { return .status(500) }
                arrivals.successes.append(id)
                return .status(200)
            }
        }
        _ = try await herald.register(
            receiver.url(), #""ordering": "\#(ordering)", "retry_schedule": [0.05, 0.05, 0.05]"#)
        var posted: [String] = []
        for number in 0..<30 {
            let id = "s\(number % 3)-\(number)"
            posted.append(try await herald.publish("test.a", #""id": "\#(id)", "subject": "s\#(number % 3)""#))
        }
        for id in posted { _ = try await herald.deliveries(of: id, "delivered") }
        return (posted, arrivals.withLock { $0.successes })
    }

    @Test("strict: all events arrive in the order of the log, although some fail at first")
    func strict() async throws {
        let (posted, arrived) = try await deliver("strict")
        #expect(arrived == posted)
    }

    @Test("subject: the events of each subject arrive in the order of the log, although some fail at first")
    func subject() async throws {
        let (posted, arrived) = try await deliver("subject")
        #expect(Set(arrived) == Set(posted) && arrived.count == posted.count)
        for subject in ["s0", "s1", "s2"] {
            #expect(arrived.filter { $0.hasPrefix(subject) } == posted.filter { $0.hasPrefix(subject) })
        }
    }
}
