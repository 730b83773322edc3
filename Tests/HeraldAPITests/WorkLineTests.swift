import HeraldCore
import HeraldJSON
import HeraldRuntime
import Synchronization
import Testing

@testable import HeraldAPI

@Suite("A line of work", .timeLimit(.minutes(20)))
struct WorkLineTests {
    private final class Document: Sendable {}

    @Test("releases what a request holds before the next one runs")
    func release() async throws {
        let line = try WorkLine(
            name: "work", bounds: .init(requests: 100, bytes: 1 << 20), steps: 10, priority: .normal, spent: { _ in })
        let isReady = Atomic(false)
        weak var observed: Document?
        func add(_ attempt: @escaping @Sendable () -> Void) {
            let problem = line.add(
                WorkLine.Entry(
                    app: .default, bytes: 1,
                    attempt: { _ in
                        attempt()
                        return true
                    }, refuse: { _ in }))
            #expect(problem == nil)
        }
        // The line has more entries when the first one is taken.
        add { while !isReady.load(ordering: .acquiring) {} }
        do {
            let document = Document()
            observed = document
            add { withExtendedLifetime(document) {} }
        }
        let isReleased = await withCheckedContinuation { continuation in
            weak let document = observed
            add { continuation.resume(returning: document == nil) }
            add {}
            isReady.store(true, ordering: .releasing)
        }
        #expect(isReleased)
        line.stop()
    }
}
