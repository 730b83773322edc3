import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldModel

@Suite("The last uses of keys")
struct KeyUseTests {
    @Test("the uses of many keys are written in steps, each key once")
    func steps() throws {
        let keys = KeyRing(
            (1...250).map { number in
                APIKey(
                    id: "key_\(number)", name: "", scopes: [.read], digest: [UInt8](repeating: 1, count: 32),
                    createdAt: 1)
            })
        for entry in keys.all where entry.key.id != "key_7" { entry.recordUse(at: 5) }
        let intake = try Intake()
        KeyUseTask(keys, intake: intake, clock: ManualClock().clock).write()
        #expect(intake.depth.events == 3)
        var written: [String] = []
        for _ in 1...3 {
            let batch = try #require(intake.take())
            guard batch.count == 1, case .command(let command) = batch[0],
                case .recordUse(let times)? = (command as? AccessWrite)?.action
            else {
                Issue.record("\(batch)")
                return
            }
            #expect(command.isStep && times.values.allSatisfy { $0 == 5 })
            written += times.keys
        }
        #expect(written.count == 249 && Set(written).count == 249 && intake.depth.events == 0)
    }
}
