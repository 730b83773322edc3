import HeraldRuntime
import Testing

@testable import HeraldCore

@Suite("The intake")
struct IntakeTests {
    private let intake: Intake

    init() throws { intake = try Intake() }

    private func publication() -> Publication {
        let event = Event(id: "evt_1", type: "a.b", subject: nil, time: 0, data: Array("{}".utf8))
        return Publication(drafts: [EventDraft(event: event, mayExist: false)]) { _ in }
    }

    private func enqueue(_ count: Int) {
        for _ in 0..<count { #expect(intake.enqueue(publication()) == nil) }
    }

    /// Would wait for ever if the writer were to wait.
    private var taken: Int? { intake.take()?.count }

    @Test("what was gathered is taken together, once it is said that no more is to come")
    func flushed() {
        enqueue(3)
        intake.flush()
        #expect(taken == 3)
        // Not a word about what comes next.
        enqueue(2)
        intake.flush()
        #expect(taken == 2)
    }

    @Test("enough is taken while more is gathered")
    func enough() {
        enqueue(Intake.minBatchEvents)
        #expect(taken == Intake.minBatchEvents)
    }

    @Test("who does not enqueue is not kept waiting by one who does")
    func mixed() {
        enqueue(1)
        #expect(intake.submit(publication()) == nil)
        enqueue(1)
        #expect(taken == 3)
        enqueue(1)
        #expect(intake.submit(Barrier {}) == nil)
        #expect(taken == 2)
    }

    @Test("what was said to be complete stays so while the writer is busy")
    func flushedBefore() {
        enqueue(1)
        intake.flush()
        enqueue(1)
        #expect(taken == 2)
    }

    @Test("what was gathered is taken before the end")
    func ended() {
        enqueue(1)
        intake.end()
        #expect(taken == 1)
        #expect(taken == nil)
    }

    @Test("the writer is woken by the end of a round, and not before")
    func woken() async {
        let intake = intake
        await withCheckedContinuation { continuation in
            let thread = try? Thread(name: "test-writer") {
                #expect(intake.take()?.count == 2)
                continuation.resume()
            }
            #expect(thread != nil)
            enqueue(2)
            intake.flush()
        }
    }
}
