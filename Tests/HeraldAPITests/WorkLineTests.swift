import HeraldJSON
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
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

    @Test("an app with large requests leaves room for those of another one")
    func bytes() async throws {
        let line = try WorkLine(
            name: "work", bounds: .init(requests: 100, bytes: 1_000), steps: 10, priority: .normal, spent: { _ in })
        let (begun, gate) = (Flag(), Flag())
        func add(_ app: AppKey, bytes: Int, _ attempt: @escaping @Sendable () -> Void = {}) -> Bool {
            let problem = line.add(
                WorkLine.Entry(
                    app: app, bytes: bytes,
                    attempt: { _ in
                        attempt()
                        return true
                    }, refuse: { _ in }))
            return problem == nil
        }
        let isRunning = add(.default, bytes: 0) {
            begun.set()
            try? blockUntil("the test has added its requests") { gate.isSet }
        }
        #expect(isRunning)
        try await eventually("the thread is busy") { begun.isSet }
        let own = (0..<20).count { _ in add(.default, bytes: 100) }
        let other = (0..<20).count { _ in add(AppKey(rawValue: 2), bytes: 100) }
        gate.set()
        line.stop()
        #expect(own == 7 && other == 2)
    }
}
