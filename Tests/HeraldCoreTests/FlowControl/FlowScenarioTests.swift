import Foundation
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// Each row of the table in Documentation/measurements/receivers.md, with the real engine and a simulated receiver.
@Suite("Receivers that are partly available")
struct FlowScenarioTests {
    /// More of them with `HERALD_SEEDS`: a few show that the bar holds, thousands how far above it the mean is.
    static let seeds: ClosedRange<UInt64> =
        1...(ProcessInfo.processInfo.environment["HERALD_SEEDS"].flatMap { UInt64($0) } ?? 1)

    private static let isReported = ProcessInfo.processInfo.environment["HERALD_SEEDS"] != nil

    struct Scenario: CustomTestStringConvertible, Sendable {
        let name: String
        var rate = 200.0
        var duration = 75.0
        /// At the end, in seconds.
        var measured = 30
        /// A second, mean of the seeds.
        var useful: ClosedRange<Double>
        var attempts: ClosedRange<Double> = 0...(.infinity)
        /// In seconds of what is offered; with every seed.
        var lag = Double.infinity
        var staysActive = true
        let receiver: @Sendable (inout SimulatedReceiver) -> Void
        var testDescription: String { name }
    }

    private static func rejecting(_ share: Double) -> @Sendable (inout SimulatedReceiver) -> Void {
        { $0.troubles = [(share, .rejects(retryAfter: nil))] }
    }
    private static func failing(_ share: Double) -> @Sendable (inout SimulatedReceiver) -> Void {
        { $0.troubles = [(share, .fails)] }
    }
    private static func excusing(_ share: Double) -> @Sendable (inout SimulatedReceiver) -> Void {
        { $0.troubles = [(share, .rejects(retryAfter: 1))] }
    }
    private static func hanging(_ share: Double) -> @Sendable (inout SimulatedReceiver) -> Void {
        { $0.troubles = [(share, .hangs)] }
    }
    private static func bucket(_ rate: Double, burst: Double) -> @Sendable (inout SimulatedReceiver) -> Void {
        { $0.quota = { _ in .init(perSecond: rate, kind: .bucket(burst: burst)) } }
    }
    private static func down(
        _ length: Double, every period: Double, _ trouble: SimulatedReceiver.Trouble
    ) -> @Sendable (inout SimulatedReceiver) -> Void {
        { $0.outage = { $0.truncatingRemainder(dividingBy: period) >= period - length ? trouble : nil } }
    }

    static let scenarios: [Scenario] = [
        Scenario(name: "healthy", useful: 195...210, attempts: 195...210, lag: 0.1) { _ in },
        Scenario(name: "503, 5 %", useful: 190...230, lag: 2, receiver: rejecting(0.05)),
        Scenario(name: "503, 10 %", useful: 190...230, lag: 2, receiver: rejecting(0.1)),
        Scenario(name: "503, 20 %", useful: 190...230, lag: 2, receiver: rejecting(0.2)),
        Scenario(name: "503, 30 %", useful: 185...230, lag: 2, receiver: rejecting(0.3)),
        Scenario(name: "503, 50 %", useful: 120...230, receiver: rejecting(0.5)),
        Scenario(name: "500, 30 %", useful: 190...230, lag: 2, receiver: failing(0.3)),
        Scenario(name: "500, 50 %", useful: 120...230, receiver: failing(0.5)),
        Scenario(name: "Retry-After: 1, 1 %", useful: 190...230, receiver: excusing(0.01)),
        Scenario(name: "Retry-After: 1, 5 %", useful: 180...230, receiver: excusing(0.05)),
        Scenario(name: "Retry-After: 1, 20 %", useful: 140...230, receiver: excusing(0.2)),
        Scenario(name: "bucket of 5, 50/s", useful: 45...52, attempts: 0...75, receiver: bucket(50, burst: 5)),
        Scenario(name: "bucket of 50, 50/s", useful: 45...52, attempts: 0...75, receiver: bucket(50, burst: 50)),
        Scenario(name: "50 in each second", useful: 45...52, attempts: 0...80) {
            $0.quota = { _ in .init(perSecond: 50, kind: .window(seconds: 1, tellsRetryAfter: false)) }
        },
        Scenario(
            name: "3,000 in each minute, with Retry-After", duration: 300, measured: 60, useful: 49...51,
            attempts: 0...55
        ) {
            $0.quota = { _ in .init(perSecond: 50, kind: .window(seconds: 60, tellsRetryAfter: true)) }
        },
        Scenario(
            name: "500 in each 10 s, with Retry-After", duration: 170, measured: 60, useful: 48...52, attempts: 0...60
        ) {
            $0.quota = { _ in .init(perSecond: 50, kind: .window(seconds: 10, tellsRetryAfter: true)) }
        },
        // A limit that was cut to almost nothing grows again within a window or two.
        Scenario(name: "500 in each 10 s", duration: 300, measured: 60, useful: 30...52, staysActive: false) {
            $0.quota = { _ in .init(perSecond: 50, kind: .window(seconds: 10, tellsRetryAfter: false)) }
        },
        Scenario(name: "bucket of 5, 50/s, and 20 % 503", useful: 40...52, attempts: 0...110) {
            $0.quota = { _ in .init(perSecond: 50, kind: .bucket(burst: 5)) }
            $0.troubles = [(0.2, .rejects(retryAfter: nil))]
        },
        // A tenth of 200/s for 30 s is caught up at 500/s.
        Scenario(name: "50/s, from 30 s on 500/s", duration: 90, useful: 200...500, lag: 1) {
            $0.quota = { .init(perSecond: $0 < 30 ? 50 : 500, kind: .bucket(burst: $0 < 30 ? 5 : 50)) }
        },
        Scenario(name: "slow start of a minute, 10/s to 400/s", duration: 100, useful: 190...400, lag: 1) {
            $0.quota = {
                $0 < 60 ? .init(perSecond: 10 + 390 * $0 / 60, kind: .bucket(burst: max(1, 1 + 3.9 * $0 / 6))) : nil
            }
        },
        Scenario(name: "queue of 50/s, room for 10", useful: 42...52, attempts: 0...75) {
            $0.queue = .init(workers: 2, serviceTime: 0.04, room: 10)
        },
        // 50/s while it is calm, 25/s under load.
        Scenario(name: "queue whose capacity halves under load", duration: 150, measured: 60, useful: 42...52) {
            $0.queue = .init(workers: 2, serviceTime: 0.04, room: 10, halvesUnderLoad: true)
        },
        Scenario(name: "1 % hang", useful: 165...230, receiver: hanging(0.01)),
        // 150 would hang at once: more than four times `max_in_flight`.
        Scenario(name: "5 % hang", useful: 100...200, receiver: hanging(0.05)),
        Scenario(name: "5 % hang, 100/s", rate: 100, useful: 90...105, lag: 5, receiver: hanging(0.05)),
        Scenario(
            name: "10 s up, 10 s down with 503", duration: 300, useful: 110...210, staysActive: false,
            receiver: down(10, every: 20, .rejects(retryAfter: nil))),
        Scenario(
            name: "10 s up, 10 s down without a connection", duration: 300, useful: 110...210, staysActive: false,
            receiver: down(10, every: 20, .refuses)),
        Scenario(
            name: "restarts for 3 s each minute", duration: 175, useful: 180...260, lag: 2, staysActive: false,
            receiver: down(3, every: 60, .refuses)),
    ]

    @Test("a receiver gets what it can process", arguments: scenarios)
    func oneLane(_ scenario: Scenario) {
        var useful = 0.0
        var attempts = 0.0
        for seed in Self.seeds {
            let world = FlowWorld(
                seed: seed, lanes: [.init(receiver: SimulatedReceiver(scenario.receiver), rate: scenario.rate)])
            world.run(until: scenario.duration)
            let end = Int(scenario.duration)
            useful += world.records[0].useful(from: end - scenario.measured, to: end)
            attempts += world.records[0].attempts(from: end - scenario.measured, to: end)
            #expect(Double(world.lag()) <= scenario.lag * scenario.rate, "seed \(seed): lag \(world.lag())")
            if scenario.staysActive { #expect(world.notices.isEmpty, "seed \(seed): \(world.notices)") }
        }
        let count = Double(Self.seeds.count)
        // The figures of Documentation/measurements/receivers.md.
        if Self.isReported { print("| \(scenario.name) | \(Int(useful / count)) | \(Int(attempts / count)) |") }
        #expect(scenario.useful.contains(useful / count))
        #expect(scenario.attempts.contains(attempts / count))
    }
}
