import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldModel

@Suite("The last uses of keys")
struct KeyUseTests {
    private let clock = ManualClock()
    private let intake: Intake
    private let task: KeyUseTask

    /// All but one of 250 keys were used.
    init() throws {
        let keys = KeyRing(
            (1...250).map { number in
                APIKey(
                    id: "key_\(number)", name: "", scopes: [.read], digest: [UInt8](repeating: 1, count: 32),
                    createdAt: 1)
            })
        for entry in keys.all where entry.key.id != "key_7" { entry.recordUse(at: 5) }
        intake = Intake()
        task = KeyUseTask(keys, intake: intake, clock: clock.clock)
    }

    /// The next step that the writer takes.
    private func take() throws -> (write: AccessWrite, keys: [String]) {
        let batch = try #require(intake.take())
        guard batch.count == 1, case .command(let command) = batch[0], command.isStep,
            let write = command as? AccessWrite, case .recordUse(let times) = write.action
        else { throw UnexpectedBatch() }
        #expect(times.values.allSatisfy { $0 == 5 })
        return (write, Array(times.keys))
    }

    private struct UnexpectedBatch: Error {}

    @Test("before a stop, the uses of many keys are submitted in steps, each key once")
    func steps() throws {
        task.write()
        #expect(intake.depth.events == 3)
        var written: [String] = []
        for _ in 1...3 { written += try take().keys }
        #expect(written.count == 249 && Set(written).count == 249 && intake.depth.events == 0)
    }

    @Test("periodically, one step at a time is in the queue, and none once one was refused")
    func one() throws {
        task.run()
        #expect(intake.depth.events == 0)
        clock.advance(seconds: 60)
        task.run()
        var written: [String] = []
        for _ in 1...3 {
            #expect(intake.depth.events == 1)
            // Before all are written, nothing is added.
            clock.advance(seconds: 60)
            task.run()
            #expect(intake.depth.events == 1)
            let step = try take()
            written += step.keys
            step.write.completion(.done(.noted))
        }
        #expect(written.count == 249 && Set(written).count == 249 && intake.depth.events == 0)
        clock.advance(seconds: 60)
        task.run()
        try take().write.refuse(.busy)
        #expect(intake.depth.events == 0)
        clock.advance(seconds: 60)
        task.run()
        #expect(intake.depth.events == 1)
    }
}
