import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCore

@Suite("The intake", .timeLimit(.minutes(5)))
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

    @Test("enqueued requests are committed together at the end of a round")
    func flushed() {
        enqueue(3)
        intake.flush()
        #expect(taken == 3)
        // Not a word about what comes next.
        enqueue(2)
        intake.flush()
        #expect(taken == 2)
    }

    @Test("a full batch is committed while more is enqueued")
    func enough() {
        enqueue(Intake.minBatchEvents)
        #expect(taken == Intake.minBatchEvents)
    }

    @Test("enqueueing without completing a round does not delay others")
    func mixed() {
        enqueue(1)
        #expect(intake.submit(publication()) == nil)
        enqueue(1)
        #expect(taken == 3)
        enqueue(1)
        #expect(intake.submit(Barrier {}) == nil)
        #expect(taken == 2)
    }

    @Test("a completed round stays complete while the writer is busy")
    func flushedBefore() {
        enqueue(1)
        intake.flush()
        enqueue(1)
        #expect(taken == 2)
    }

    @Test("enqueued requests are committed before the end")
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
