import Delegation
import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// The writer of a store that belongs to one process, and the checkpoints of its loops.
@Suite("Requests for deliveries and earlier checkpoints")
struct SingleProcessTests {
    private let store = MemoryStore()
    private let writer: LogWriter
    private let known = Recorder<Int64>()
    private var state: LogWriter.State

    /// Two deliveries wait for a retry.
    init() throws {
        try store.transaction { transaction throws(StoreError) in
            try transaction.setDelegate(WebhookDelegate(1))
            try transaction.append([Event(id: "e1"), Event(id: "e2")])
            var checkpoint = Checkpoint()
            checkpoint.waiting = [Self.row(1), Self.row(2)]
            try transaction.write(checkpoint)
        }
        let recovery = try store.recover()
        let committed = CommittedState(recovery)
        writer = LogWriter(
            store: store, intake: Intake(), delegates: MulticastDelegate(), committed: committed,
            ids: ULIDGenerator(), clock: ManualClock().clock,
            hooks: .init(
                changed: { [known] in if case .known(let change) = $0 { known.record(change) } }, followed: { _ in },
                onDurabilityLost: { _ in }))
        state = LogWriter.State(.init(recovery), SingleProcess(committed.registry), LazyReader(store))
        writer.sendKnown(state)
    }

    private static func row(_ event: LogPosition, _ state: WaitingDelivery.State = .retrying) -> WaitingDelivery {
        WaitingDelivery(delegate: 1, event: event, attempts: 1, dueAt: 9, state: state)
    }

    private func request(
        _ action: (DeliveryQuery) -> DeliveryWrite.Action, _ event: LogPosition, _ state: WaitingDelivery.State
    ) -> Intake.Submission {
        var query = DeliveryQuery([state])
        query.event = event
        return .command(DeliveryWrite(action: action(query)) { _ in })
    }

    private func checkpoint(known: Int64, _ change: (inout Checkpoint) -> Void) -> Intake.Submission {
        var checkpoint = Checkpoint()
        checkpoint.known = known
        change(&checkpoint)
        return .checkpoint(checkpoint) { _ in }
    }

    private func states() throws -> [LogPosition: WaitingDelivery.State] {
        let rows = try store.makeReader().deliveries(DeliveryQuery(Set(WaitingDelivery.State.allCases)))
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.event, $0.state) })
    }

    @Test("the rows of requests stay as they are until a checkpoint includes the request", arguments: [true, false])
    mutating func stay(inOneTransaction: Bool) throws {
        func write(_ submissions: Intake.Submission...) {
            if inOneTransaction { return writer.write(submissions, &state) }
            for submission in submissions { writer.write([submission], &state) }
        }
        write(request({ .cancel($0) }, 1, .retrying))
        // The end is that of a row which the start has forgotten.
        write(
            request({ .cancel($0) }, 2, .retrying),
            checkpoint(known: 1) {
                $0.waiting = [Self.row(2)]
                $0.ended = [DeliveryKey(delegate: 1, event: 2)]
            })
        #expect(try states() == [1: .dropped, 2: .dropped])
        write(
            request({ .redeliver($0) }, 1, .dropped),
            checkpoint(known: 2) {
                $0.attempts = [attempt(1, 1)]
                $0.ended = [DeliveryKey(delegate: 1, event: 1)]
            })
        #expect(try states() == [1: .retrying, 2: .dropped])
        #expect(known.items == [0, 1, 2, 3])
        write(checkpoint(known: 3) { $0.waiting = [Self.row(1, .exhausted)] })
        #expect(try states() == [1: .exhausted, 2: .dropped])
    }

    @Test("a delivery that has succeeded before it was cancelled is delivered")
    mutating func succeeded() throws {
        writer.write([request({ .cancel($0) }, 1, .retrying)], &state)
        writer.write([request({ .cancel($0) }, 2, .retrying)], &state)
        let end = checkpoint(known: 1) {
            $0.attempts = [attempt(1, 2)]
            $0.ended = [DeliveryKey(delegate: 1, event: 2)]
        }
        writer.write([end], &state)
        #expect(try states() == [1: .dropped])
    }

    @Test("a checkpoint from before the first request includes none")
    mutating func first() throws {
        writer.write([request({ .cancel($0) }, 1, .retrying)], &state)
        writer.write([checkpoint(known: .max) { $0.waiting = [Self.row(1)] }], &state)
        #expect(try states() == [1: .dropped, 2: .retrying])
    }
}
