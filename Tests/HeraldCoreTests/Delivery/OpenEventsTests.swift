import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// The bound of the bytes of events in open requests.
@Suite struct OpenEventsTests {
    private func large(_ bytes: Int = 100_000) -> Event {
        Event("a", data: "\"\(String(repeating: "x", count: bytes))\"")
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
