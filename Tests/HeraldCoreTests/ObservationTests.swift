import Delegation
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Observers of the hub", .timeLimit(.minutes(20)))
struct ObservationTests {
    private final class Watcher: RegistryDelegate {
        let changes = Recorder<String>()

        func registryChanged(_ change: Registry.Change) {
            switch change {
            case .registered(let delegate): changes.record("registered \(delegate.settings.url)")
            case .changed(let old, let new): changes.record("\(old.status) to \(new.status)")
            case .removed(let delegate): changes.record("removed \(delegate.settings.url)")
            }
        }
    }

    @Test("an observer of the registry is called for each committed change, in order")
    func registry() async throws {
        let bench = try HubBench()
        let watcher = Watcher()
        bench.hub.committed.registry.delegates.addDelegate(watcher)
        let delegate = try #require(await bench.register("https://receiver.example/a"))
        await bench.register("https://receiver.example/a")
        _ = await bench.change(
            .update(id: delegate.id, ifVersion: nil) { state, now in state.apply(.paused, now: now) })
        _ = await bench.change(.removeAll)
        #expect(
            watcher.changes.items == [
                "registered https://receiver.example/a", "active to paused", "removed https://receiver.example/a",
            ])
        #expect(bench.hub.committed.registry.all.isEmpty)
        await bench.stop()
    }

    @Test("waiting and refused requests are counted")
    func intake() throws {
        let intake = Intake(maxEvents: 2, maxBytes: 1_000)
        func post(_ count: Int) -> HubError? {
            let drafts = (0..<count).map { EventDraft(event: Event("a.x", id: "e\($0)"), mayExist: false) }
            return intake.submit(Publication(drafts: drafts) { _ in })
        }
        #expect(post(2) == nil)
        #expect(post(1) != nil)
        #expect(intake.depth.events == 2)
        #expect(intake.depth.bytes == 2 * Event("a.x").body.count)
        #expect(intake.depth.refusals == 1)
        _ = intake.take()
        #expect(intake.depth.events == 0 && intake.depth.bytes == 0)
        #expect(post(1) == nil)
        #expect(intake.depth.refusals == 1)
        #expect(intake.depth.maxEvents == 2 && intake.depth.maxBytes == 1_000)
    }

    @Test("commits are counted by duration and by number of events")
    func commits() async throws {
        let bench = try HubBench()
        _ = try await bench.hub.publish(
            (1...3).map { EventDraft(event: Event("a.x", id: "e\($0)"), mayExist: false) })
        await bench.stop()
        let counters = bench.hub.writerCounters
        #expect(counters.batches.snapshot.sum == 3)
        #expect(counters.batches.snapshot.count == counters.durations.snapshot.count)
        #expect(counters.failures.load(ordering: .relaxed) == 0)
    }
}
