import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// Many delegates before one engine, and outages. Sizes are those that a debug build bears; Benchmarks has the full ones.
@Suite("Many receivers that are partly available")
struct ManyLanesTests {
    static let outages: [(name: String, trouble: SimulatedReceiver.Trouble)] = [
        ("503", .rejects(retryAfter: nil)), ("no connection", .refuses), ("no answer", .hangs),
    ]

    @Test(
        "after an outage the first success follows within a minute, the rate doubles, everything is delivered soon",
        arguments: 0...2)
    func outage(_ kind: Int) throws {
        let trouble = Self.outages[kind].trouble
        let backlog = 10_000
        let world = FlowWorld(
            seed: 1,
            lanes: [
                .init(
                    receiver: SimulatedReceiver {
                        $0.latency = 0.0005
                        $0.queue = .init(workers: 25, serviceTime: 0.005, room: 100)
                        $0.outage = { $0 < 600 ? trouble : nil }
                    }, rate: 0, backlog: backlog)
            ])
        world.markAt = 600
        world.run(until: 600)
        #expect(world.records[0].attempts.reduce(0, +) < 100)
        world.run(until: 720)
        let record = world.records[0]
        let first = try #require(record.firstUseful)
        #expect(first - 600 <= 60)
        #expect(record.useful(from: Int(first), to: Int(first) + 2) <= 20)
        for second in Int(first) + 2..<Int(first) + 9 {
            #expect(Double(record.useful[second]) <= 2.5 * Double(record.useful[second - 1]))
        }
        let done = record.useful.prefix(Int(first) + 30).reduce(0, +)
        #expect(Double(done) >= 0.999 * Double(backlog), "\(done)")
        #expect(world.notices.count == 2)
    }

    @Test("receivers that hang do not slow a healthy one", arguments: [false, true])
    func hanging(theyTurn: Bool) {
        var lanes = [FlowWorld.Lane(receiver: SimulatedReceiver(), rate: 200)]
        for _ in 1...300 {
            lanes.append(
                .init(
                    receiver: SimulatedReceiver {
                        $0.timeout = 30
                        $0.outage = { theyTurn && $0 < 10 ? nil : .hangs }
                    }, rate: 1, backlog: theyTurn ? 0 : 5))
        }
        // Two slots for each, as 4,096 are for 2,000.
        let world = FlowWorld(seed: 1, capacity: 700, lanes: lanes)
        world.run(until: 60)
        let healthy = world.records[0]
        #expect(healthy.useful(from: 0, to: 60) >= 190)
        #expect(healthy.useful.dropLast().min() ?? 0 >= 140)
        #expect(healthy.percentile(0.99) <= 3 * 0.0055)
    }

    @Test("the probes of many failing delegates are spread over time")
    func probes() {
        let world = FlowWorld(
            seed: 1,
            lanes: (1...600).map { _ in
                .init(receiver: SimulatedReceiver { $0.outage = { _ in .refuses } }, rate: 0, backlog: 10)
            })
        world.run(until: 400)
        var probes = Array(repeating: 0, count: 400)
        for record in world.records {
            for (second, count) in record.attempts.enumerated() where second < 400 { probes[second] += count }
        }
        let later = probes[200...]
        let mean = Double(later.reduce(0, +)) / Double(later.count)
        #expect(mean > 5)
        #expect(Double(later.max() ?? 0) <= 2 * mean, "\(later.max() ?? 0) of a mean of \(mean)")
        #expect(world.mostOpen[200...].max() ?? 0 <= 20)
    }

    @Test("a hundred delegates on one host behind one rate limit use all of it, each its share")
    func sharedLimit() {
        func lane(_ index: Int) -> FlowWorld.Lane {
            .init(
                receiver: SimulatedReceiver {
                    $0.quota = { _ in .init(perSecond: 200, kind: .bucket(burst: 20)) }
                }, rate: 10, host: index == 0 ? nil : 0)
        }
        let world = FlowWorld(seed: 1, lanes: (0..<100).map(lane))
        world.run(until: 135)
        for start in [45, 75, 105] {
            let useful = world.records.map { $0.useful(from: start, to: start + 30) }
            let attempts = world.records.reduce(0) { $0 + $1.attempts(from: start, to: start + 30) }
            let all = useful.reduce(0, +)
            #expect(all >= 180, "from \(start) s: \(all)/s")
            #expect(attempts <= 1.3 * all, "from \(start) s: \(attempts) attempts/s for \(all)/s")
            #expect(useful.min() ?? 0 >= 1, "from \(start) s: \(useful.min() ?? 0)/s of 2/s")
        }
    }

    @Test("receivers of one app that reject do not limit another app's on the same host")
    func tenants() {
        func lane(_ index: Int) -> FlowWorld.Lane {
            let isBad = index < 4
            return .init(
                receiver: SimulatedReceiver {
                    if isBad { $0.troubles = [(0.9, .rejects(retryAfter: nil))] }
                }, rate: 50, app: AppKey(rawValue: isBad ? 7 : 8),
                change: { $0.url = "https://shared.example/\(index)" })
        }
        let world = FlowWorld(seed: 1, lanes: (0..<8).map(lane))
        world.run(until: 60)
        for record in world.records[4...] {
            #expect(record.useful(from: 10, to: 60) >= 48)
            #expect(record.percentile(0.99) <= 3 * 0.0055)
        }
    }

    @Test("retries that were due before the start are not sent all at once")
    func restart() throws {
        let world = FlowWorld(
            seed: 1, lanes: [.init(receiver: SimulatedReceiver { $0.latency = 0.0005 }, rate: 0, retries: 10_000)])
        world.run(until: 30)
        let record = world.records[0]
        #expect(record.useful[0] <= 15 && record.useful[1] <= 25)
        for second in 2..<9 {
            #expect(Double(record.useful[second]) <= 2.5 * Double(record.useful[second - 1]))
        }
        #expect(record.useful.reduce(0, +) == 10_000)
    }

    @Test("receivers that are slow but healthy get all events")
    func slow() {
        let world = FlowWorld(
            seed: 1, capacity: 1_000,
            lanes: (1...200).map { _ in .init(receiver: SimulatedReceiver { $0.latency = 0.2 }, rate: 5) })
        world.run(until: 20)
        let useful = world.records.reduce(0) { $0 + $1.useful(from: 10, to: 20) }
        #expect(useful >= 950)
    }

    @Test(
        "order is kept while a tenth is rejected, some fail and some hang; and the lane continues",
        arguments: [
            WebhookSettings.Ordering.subject, .strict,
        ])
    func order(_ ordering: WebhookSettings.Ordering) {
        let isStrict = ordering == .strict
        let world = FlowWorld(
            seed: 3,
            lanes: [
                .init(
                    receiver: SimulatedReceiver {
                        $0.troubles = [(0.1, .rejects(retryAfter: nil)), (0.01, .hangs), (0.05, .fails)]
                    }, rate: isStrict ? 0.05 : 20, subject: { "s\(Int.random(in: 0..<50, using: &$0))" },
                    change: { $0.ordering = ordering })
            ])
        world.run(until: isStrict ? 4_000 : 200)
        world.stopPublishing()
        world.run(until: isStrict ? 10_000 : 2_000)
        #expect(world.records[0].order.count == world.published)
        #expect(world.waiting() == 0 && world.lag() == 0)
        var last: [String: LogPosition] = [:]
        for event in world.records[0].order {
            let line = isStrict ? "" : world.subject(of: event) ?? ""
            #expect(last[line, default: 0] < event)
            last[line] = event
        }
    }
}
