import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("The intake", .timeLimit(.minutes(20)))
struct IntakeTests {
    private let intake: Intake

    init() { intake = Intake() }

    private func publication(of app: AppKey = .default) -> Publication {
        let event = Event(id: "evt_1", type: "a.b", subject: nil, time: 0, data: Array("{}".utf8))
        return Publication(app: app, drafts: [EventDraft(event: event, mayExist: false)]) { _ in }
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

    @Test("an app that fills the queue leaves room for other apps")
    func reserve() throws {
        let intake = Intake(maxEvents: 80)
        let (greedy, modest, third, fourth) = (
            AppKey(rawValue: 1), AppKey(rawValue: 2), AppKey(rawValue: 3), AppKey(rawValue: 4)
        )
        for _ in 0..<80 { #expect(intake.submit(publication(of: greedy)) == nil) }
        #expect(intake.submit(publication(of: greedy)) != nil)
        // Each has an eighth, and all have a quarter.
        for _ in 0..<10 { #expect(intake.submit(publication(of: modest)) == nil) }
        #expect(intake.submit(publication(of: modest)) != nil)
        for _ in 0..<10 { #expect(intake.submit(publication(of: third)) == nil) }
        #expect(intake.submit(publication(of: fourth)) != nil)
        #expect(intake.take()?.count == 100)
        // Room that the writer has made is counted for each.
        for _ in 0..<80 { #expect(intake.submit(publication(of: greedy)) == nil) }
        for _ in 0..<10 { #expect(intake.submit(publication(of: modest)) == nil) }
    }

    @Test("an app that fills the queue leaves room for what other apps change")
    func reserveOfCommands() throws {
        let intake = Intake(maxEvents: 80)
        func change(_ app: Int64) -> HubError? {
            intake.submit(PendingWrite(app: AppKey(rawValue: app), id: "evt_1", action: .cancel) { _ in })
        }
        for _ in 1...2 {
            for _ in 0..<80 { #expect(intake.submit(publication()) == nil) }
            #expect(change(AppKey.default.rawValue) != nil)
            for _ in 0..<10 { #expect(change(2) == nil) }
            #expect(change(2) != nil)
            // What the writer has taken counts no more.
            while intake.depth.events > 0 { #expect(intake.take()?.isEmpty == false) }
        }
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

    private struct Step: StoreCommand {
        static var admission: CommandAdmission { .bounded }
        var isStep: Bool { true }
        func perform(_ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan) {}
        func refuse(_ refusal: HubError) {}
    }

    @Test("a full queue refuses no next step of a task that it has begun, and a hub that stops does")
    func nextStep() throws {
        let intake = Intake(maxEvents: 1)
        #expect(intake.submit(Step()) == nil)
        #expect(intake.take()?.count == 1)
        #expect(intake.submit(publication()) == nil)
        #expect(intake.submit(Step()) != nil)
        #expect(intake.submitNext(Step()) == nil)
        #expect(intake.depth.events == 2)
        for _ in 1...2 { #expect(intake.take()?.count == 1) }
        #expect(intake.depth.events == 0)
        intake.refusePublications()
        #expect(intake.submitNext(Step()) != nil)
        #expect(intake.depth.events == 0)
    }

    @Test("steps of long tasks take turns with what else is written, one in a transaction of its own")
    func steps() {
        for _ in 0..<3 { #expect(intake.submit(Step()) == nil) }
        for _ in 0..<2 { #expect(intake.submit(publication()) == nil) }
        var kinds: [String] = []
        func take() {
            let batch = intake.take(milliseconds: 0) ?? []
            kinds.append(
                batch.map { submission in
                    if case .publish = submission { "event" } else { "step" }
                }.joined(separator: "+"))
        }
        take()
        take()
        #expect(kinds.sorted() == ["event+event", "step"])
        #expect(intake.submit(publication()) == nil)
        take()
        take()
        #expect(kinds.suffix(2).sorted() == ["event", "step"])
        take()
        #expect(kinds.last == "step" && !intake.hasSteps)
        #expect(intake.depth.events == 0)
        take()
        #expect(kinds.last == "")
    }

    @Test("steps wait while the writer takes none, what else is written does not; a hub that stops commits them")
    func held() {
        func take() -> Int? { intake.take(milliseconds: 0, steps: false)?.count }
        #expect(intake.submit(Step()) == nil)
        #expect(take() == 0)
        #expect(intake.submit(publication()) == nil)
        #expect(take() == 1 && intake.hasSteps)
        // Without a limit: the step that has waited is taken at once, and goes first.
        #expect(intake.submit(publication()) == nil)
        #expect(taken == 1 && !intake.hasSteps)
        #expect(intake.submit(Step()) == nil)
        #expect(take() == 1)
        intake.refusePublications()
        #expect(take() == 1 && !intake.hasSteps)
    }

    @Test("while requests come in, steps take a tenth of the writer's time; otherwise all of it")
    func pace() {
        var pace = StepPace()
        let begin: Int64 = 5_000_000_000
        #expect(pace.next < begin)
        pace.wroteStep(begin..<begin + 2_000_000)
        #expect(pace.next < begin)
        pace.wroteRequest(at: begin)
        pace.wroteStep(begin + 1_000_000..<begin + 3_000_000)
        #expect(pace.next == begin + 21_000_000)
        let later = begin + StepPace.quiet
        pace.wroteStep(later..<later + 2_000_000)
        #expect(pace.next < later)
    }

    @Test("a step during which the process stood still for an hour delays the next one by seconds")
    func stoodStill() {
        var pace = StepPace()
        pace.wroteRequest(at: 0)
        let end: Int64 = 3_600_000_000_000
        pace.wroteStep(1..<end)
        #expect(pace.next == end + StepPace.maxPause)
    }
}
