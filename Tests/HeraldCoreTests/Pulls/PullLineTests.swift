import Glibc
import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldModel

@Suite("The memory of pull delegates", .timeLimit(.minutes(20)))
struct PullLineTests {
    private let bench: HubBench
    private let pulls: Pulls

    init() throws {
        bench = try HubBench()
        pulls = Pulls(hub: bench.hub)
        bench.hub.addDelegate(pulls, description: "pulls")
    }

    private func register(_ change: (inout WebhookSettings) -> Void = { _ in }) async throws -> WebhookDelegate {
        let delegate = await bench.register("") { settings in
            settings.kind = .pull
            change(&settings)
        }
        return try #require(delegate)
    }

    private func pull(
        _ delegate: WebhookDelegate, seconds: Int = 0, acknowledges: String? = nil, isAbandoned: Bool = false
    ) async throws -> Pulls.Run {
        try await withCheckedThrowingContinuation { continuation in
            pulls.pull(
                .init(
                    delegateID: delegate.id, limit: 10, seconds: seconds, acknowledges: acknowledges,
                    isAbandoned: { isAbandoned }
                ) { continuation.resume(with: $0) })
        }
    }

    @Test("a pull whose consumer has had another response takes no lease; the one that it acknowledges ends")
    func abandoned() async throws {
        let delegate = try await register()
        _ = try await bench.post("order.paid", id: "e0")
        #expect(try await pull(delegate, isAbandoned: true).lease == nil)
        let first = try await pull(delegate)
        #expect(first.events.map(\.attempt) == [1])
        _ = try await bench.post("order.paid", id: "e1")
        #expect(try await pull(delegate, acknowledges: first.lease?.id, isAbandoned: true).lease == nil)
        let next = try await pull(delegate)
        #expect(next.events.map(\.event.event.id) == ["e1"])
        guard
            case .done(.failed(.leaseEnded)) = await bench.hub.result(
                of: PullWrite.self,
                { completion in
                    PullWrite(
                        delegateID: delegate.id, action: .release(lease: first.lease?.id ?? ""), completion: completion)
                })
        else { throw Unexpected("the lease was not acknowledged") }
    }

    @Test("nothing is kept of a delegate that is removed while its next search has a time")
    func removed() async throws {
        let delegate = try await register { $0.retrySchedule = [3_000] }
        _ = try await bench.post("order.paid", id: "e0")
        let lease = try #require(try await pull(delegate).lease)
        let failed = PullWrite.Failed(id: "e0", retryAfter: nil, reason: "no stock")
        await bench.hub.result(of: PullWrite.self) {
            PullWrite(delegateID: delegate.id, action: .acknowledge(lease: lease.id, failed: [failed]), completion: $0)
        }
        // It waits for the retry.
        async let waiting = pull(delegate, seconds: 600)
        try await eventually("the pull waits") { pulls.kept.waiting == 1 }
        guard case .done(.removed) = await bench.change(.remove(id: delegate.id, ifVersion: nil))
        else { throw Unexpected("the delegate was not removed") }
        let run = try? await waiting
        #expect(run == nil)
        try await eventually("nothing is kept") { pulls.kept.lines == 0 }
    }

    @Test("a pull that waits on after an event that it does not want gets the next one")
    func waitsOn() async throws {
        let filter = try #require(ContentFilter(text: Array(#"{"data": {"n": [2]}}"#.utf8)))
        let delegate = try await register { $0.filter = filter }
        async let waiting = pull(delegate, seconds: 3_600)
        try await eventually("the pull waits") { pulls.kept.waiting == 1 }
        for number in 0..<3 { _ = try await bench.post("order.paid", id: "e\(number)", data: #"{"n": \#(number)}"#) }
        let run = try await waiting
        #expect(run.events.map(\.event.event.id) == ["e2"])
    }

    @Test("a pull that waits ends when the hub stops")
    func stopped() async throws {
        let delegate = try await register()
        async let waiting = pull(delegate, seconds: 600)
        try await eventually("the pull waits") { pulls.kept.waiting == 1 }
        await bench.stop()
        let run = try await waiting
        #expect(run.lease == nil)
    }

    @Test("a pull that would wait ends if its consumer has left before")
    func left() async throws {
        let delegate = try await register()
        pulls.endAll()
        let run: Pulls.Run = try await withCheckedThrowingContinuation { continuation in
            pulls.pull(
                .init(
                    delegateID: delegate.id, limit: 1, seconds: 600, isAwaited: { $0(false) },
                    completion: { continuation.resume(with: $0) }))
        }
        #expect(run.lease == nil)
        await bench.stop()
    }

    /// A clock whose next reading by a certain thread waits until it is opened.
    private final class HeldClock: Sendable {
        let isReached = Flag()
        private let isOpen = Flag()
        private let thread = Atomic<UInt>(0)

        var clock: Clock {
            Clock(
                monotonic: { [self] in
                    let current = UInt(pthread_self())
                    if thread.compareExchange(expected: current, desired: 0, ordering: .relaxed).exchanged {
                        isReached.set()
                        try? blockUntil("the test opens the clock") { [isOpen] in isOpen.isSet }
                    }
                    return Clock.system.monotonic()
                }, wall: Clock.system.wall)
        }

        func holdThisThread() { thread.store(UInt(pthread_self()), ordering: .relaxed) }
        func open() { isOpen.set() }
    }

    @Test("a pull that comes after an event gets it, also behind one whose search began before the event")
    func behind() async throws {
        let held = HeldClock()
        defer { held.open() }
        var configuration = Hub.Configuration()
        configuration.readers = 1
        let bench = try HubBench(configuration: configuration, clock: held.clock)
        let pulls = Pulls(hub: bench.hub)
        bench.hub.addDelegate(pulls, description: "pulls")
        let delegate = try #require(await bench.register("") { $0.kind = .pull })
        // The first pull reads the clock when its search has found nothing.
        #expect(bench.hub.read(app: .default) { _ in held.holdThisThread() })
        pulls.pull(.init(delegateID: delegate.id, limit: 1, seconds: 600) { _ in })
        try await eventually("the first pull has searched") { held.isReached.isSet }
        _ = try await bench.post("order.paid", id: "e0")
        let run: Pulls.Run = try await withCheckedThrowingContinuation { continuation in
            pulls.pull(.init(delegateID: delegate.id, limit: 1, seconds: 0) { continuation.resume(with: $0) })
            held.open()
        }
        #expect(run.events.map(\.event.event.id) == ["e0"])
        await bench.stop()
    }
}
