import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// A week of outages, retries and leases, driven by the real lanes and the real writer with a clock that is moved.
@Suite("A simulated week")
struct WeekTests {
    private static let hour = 3_600.0
    private static let day = 86_400.0

    private func receiver(_ callback: Callback) -> String {
        String(callback.delegate.settings.url.dropFirst("https://receiver.example/".count))
    }

    @Test("a week of operation keeps all promises, in seconds")
    func week() throws {
        let world = try World(loops: 2)
        func register(_ name: String, _ change: (inout WebhookSettings) -> Void = { _ in }) -> DelegateKey {
            world.register("https://receiver.example/\(name)", change)
        }
        let healthy = register("healthy")
        let outage = register("outage")
        let poisoned = register("poisoned")
        let lost = register("lost")
        let leased = register("leased") { $0.leaseSeconds = 7_200 }
        let leaving = register("leaving")
        let observer = register("observer") { $0.events = [.prefix("herald.")] }

        let begin = world.clock.now
        var hours: Double { Double(world.clock.now - begin) / 1e9 / Self.hour }
        var signatures: [(hour: Double, count: Int)] = []
        world.answer = { callback in
            switch receiver(callback) {
            case "healthy":
                signatures.append((hours, callback.delegate.state.secrets.count { $0.isValid(at: world.clock.wall) }))
                return .success
            // Ten hours on the first day.
            case "outage": return (5..<15).contains(hours) ? .failure : .success
            // One event that always fails, and is retried to the end.
            case "poisoned": return callback.event.id == "e3" ? .failure : .success
            // Down for six days, until it is repaired.
            case "lost": return hours < 144 ? .answered(502) : .success
            case "leaving": return hours > 100 ? .answered(410) : .success
            default: return .success
            }
        }
        let other = SigningSecret(bytes: Array(32..<64))
        for hour in 0..<168 {
            world.publish()
            if hour < 72 { world.update(leased) { state, now in state.apply(.leaseRenewed, now: now) } }
            if hour == 24 {
                world.update(healthy) { state, now in
                    state.secrets = [DelegateSecret(other), DelegateSecret(.test, expiresAt: now + 86_400_000)]
                }
            }
            if hour == 146 { world.resume(lost) }
            world.advance(seconds: Self.hour)
        }

        let all = (1...168).map { "e\($0)" }
        func delivered(_ key: DelegateKey) -> Set<String> {
            Set(
                world.contents.attempts.filter { $0.record.delegate == key && $0.record.succeeded }.compactMap {
                    world.contents.event($0.record.event)?.id
                })
        }
        #expect(world.arrivals(healthy) == all)
        #expect(delivered(outage) == Set(all))
        #expect(delivered(poisoned) == Set(all).subtracting(["e3"]))
        #expect(delivered(lost) == Set(all))
        // The default schedule, and then it is given up.
        #expect(world.arrivals(poisoned).count { $0 == "e3" } == WebhookSettings.defaultRetrySchedule.count + 1)
        #expect(world.rows(poisoned).map(\.state) == [.exhausted])
        // Five days of probes, each minute or sooner, and no attempt used up once nothing but probes was sent.
        let lostAttempts = world.contents.attempts.filter { $0.record.delegate == lost && !$0.record.succeeded }
        #expect((7_200...14_400).contains(lostAttempts.count), "\(lostAttempts.count) probes")
        let requests = Set(lostAttempts.map { [$0.record.event, Int64($0.record.number)] })
        #expect(requests.count == lostAttempts.count, "each has a number of its own")
        // The lease was renewed until hour 71, and ended two hours later.
        #expect(world.delegate(leased) == nil)
        #expect((72...74).contains(world.callbacks.count { $0.delegate.key == leased }))
        #expect(world.status(leaving) == .gone)
        #expect(world.status(lost) == .active && world.delegate(lost)?.state.failingSince == nil)
        #expect(signatures.filter { (24.01...47.9).contains($0.hour) }.allSatisfy { $0.count == 2 })
        #expect(signatures.filter { !(23.9...48.1).contains($0.hour) }.allSatisfy { $0.count == 1 })

        let names = [
            outage: "outage", poisoned: "poisoned", lost: "lost", leased: "leased", leaving: "leaving",
        ]
        let byID = Dictionary(
            uniqueKeysWithValues: Set(world.callbacks.map { Pair(id: $0.delegate.id, key: $0.delegate.key) }).map {
                ($0.id, names[$0.key] ?? "")
            })
        let story = world.announcements.map { "\($0.type.dropFirst("herald.".count)) \(byID[$0.subject ?? ""] ?? "")" }
        #expect(
            story == [
                "delegate.failing lost", "delegate.failing outage", "delegate.recovered outage",
                "delegate.expired leased", "delivery.exhausted poisoned", "delegate.gone leaving",
                "delegate.disabled lost",
            ])
        #expect(world.arrivals(observer) == world.announcements.map(\.id))
        #expect(world.contents.settled == world.contents.head)
        #expect(world.contents.lanes.isEmpty)
    }

    private struct Pair: Hashable {
        let id: String
        let key: DelegateKey
    }
}
