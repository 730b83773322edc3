import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// The bound of the bytes of events in open requests.
@Suite struct OpenEventsTests {
    private func large(_ bytes: Int = 100_000, app: AppKey = .default) -> Event {
        Event("a", data: "\"\(String(repeating: "x", count: bytes))\"", app: app)
    }

    @Test("an event is counted once, however many requests are open for it, and until the last one has ended")
    func once() {
        var open = OpenEvents(maxBytes: 1_000_000)
        let event = large()
        for _ in 1...3 { open.opened(event, 7) }
        #expect(open.bytes == event.body.count)
        for isLast in [false, false, true] {
            let hasMadeRoom = open.closed(event, 7)
            #expect(hasMadeRoom == isLast)
        }
        #expect(open.bytes == 0)
    }

    @Test("one large event always has room, and receivers that have not responded have half of it")
    func room() {
        var open = OpenEvents(maxBytes: 250_000)
        let event = large()
        #expect(open.hasRoom(large(900_000), 1, isProven: false))
        open.opened(event, 1)
        #expect(open.hasRoom(event, 1, isProven: false), "the same event takes nothing more")
        #expect(!open.hasRoom(event, 2, isProven: false))
        #expect(open.hasRoom(event, 2, isProven: true))
        open.opened(event, 2)
        #expect(!open.hasRoom(event, 3, isProven: true))
    }

    @Test("calls outside the lanes are counted by their events, in whichever order they end")
    func calls() {
        let (long, short) = (large(500_000), large(10_000))
        for isLongFirst in [false, true] {
            var open = OpenEvents(maxBytes: 1_000_000)
            open.opened(isLongFirst ? long : short, 0)
            open.opened(isLongFirst ? short : long, 0)
            #expect(open.bytes == long.body.count + short.body.count)
            _ = open.closed(isLongFirst ? long : short, 0)
            _ = open.closed(isLongFirst ? short : long, 0)
            #expect(open.bytes == 0)
        }
    }

    @Test("an app that takes all that it can get leaves room for the events of others")
    func share() {
        var open = OpenEvents(maxBytes: 1_000_000)
        let event = large()
        var position: LogPosition = 0
        while open.hasRoom(event, position + 1, isProven: true) {
            position += 1
            open.opened(event, position)
        }
        #expect((7...8).contains(position))
        #expect(open.hasRoom(large(app: AppKey(rawValue: 2)), position + 1, isProven: true))
        _ = open.closed(event, 1)
        _ = open.closed(event, 2)
        #expect(open.hasRoom(event, position + 1, isProven: true))
    }

    @Test("lanes that wait are taken from each app, in order of arrival")
    func waits() {
        var lanes = LanesByShare()
        for lane in 0..<5 {
            let isNew = lanes.append(lane, of: lane < 4 ? 0 : 1)
            #expect(isNew)
        }
        lanes.remove(1, of: 0)
        #expect(lanes.contains(0, of: 0) && !lanes.contains(1, of: 0))
        var taken = lanes.take(2, ofShares: 2)
        #expect(taken == [0, 2, 4])
        taken = lanes.take(.max, ofShares: .max)
        #expect(taken == [3])
    }

    @Test("lanes of a few apps are taken at a time, and then those of the next ones")
    func waitsOfManyApps() {
        var lanes = LanesByShare()
        for lane in 0..<20 {
            let isNew = lanes.append(lane, of: lane % 10)
            #expect(isNew)
        }
        lanes.remove(5, of: 5)
        lanes.remove(15, of: 5)
        for expected in [[0, 1, 2, 3], [4, 6, 7, 8], [9, 10, 11, 12], [13, 14, 16, 17], [18, 19], []] {
            let taken = lanes.take(1, ofShares: 4)
            #expect(taken == expected)
        }
    }

    @Test("a test call with a large event needs room for it")
    func testCalls() throws {
        let bench = try EngineBench(WebhookDelegate(1))
        let answers = Recorder<Bool>()
        bench.engine.receive(.test(WebhookDelegate(1), large(33 << 20)) { answers.record($0 == nil) })
        bench.engine.receive(.test(WebhookDelegate(1), large()) { answers.record($0 == nil) })
        #expect(answers.items == [true])
        bench.engine.receive(.test(WebhookDelegate(1)) { answers.record($0 == nil) })
        #expect(answers.items == [true])
    }

    @Test("small events always have room")
    func small() {
        var open = OpenEvents(maxBytes: 10)
        for number: LogPosition in 1...100 {
            #expect(open.hasRoom(Event("a"), number, isProven: false))
            open.opened(Event("a"), number)
        }
        let hasMadeRoom = open.closed(Event("a"), 1)
        #expect(open.bytes == 0 && !hasMadeRoom)
    }
}
