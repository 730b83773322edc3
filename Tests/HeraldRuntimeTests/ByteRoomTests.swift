import HeraldRuntime
import Testing

@Suite("Shared bytes")
struct ByteRoomTests {
    @Test("a holder leaves a quarter to the others, and one request of any size has room")
    func shares() {
        let room = ByteRoom<String>(maxBytes: 100)
        let isTaken = [
            room.take(40, of: "a"), room.take(35, of: "a"), room.take(1, of: "a"), room.take(18, of: "b"),
            room.take(8, of: "b"),
        ]
        #expect(isTaken == [true, true, false, true, false])
        #expect(room.bytes == 93)
        room.give(back: 75, of: "a")
        room.give(back: 18, of: "b")
        let huge = room.take(1_000, of: "a")
        let other = room.take(1, of: "b")
        #expect(huge && !other)
        let more = room.take(1, of: "a")
        let itsOwn = room.take(1, of: "a", besides: 1_000)
        #expect(!more && itsOwn)
        room.give(back: 1_001, of: "a")
        #expect(room.bytes == 0)
    }

    @Test("a holder that has none needs only what is free")
    func first() {
        let room = ByteRoom<String>(maxBytes: 100)
        let isTaken = [
            room.take(40, of: "a"), room.take(61, of: "b"), room.take(50, of: "b"), room.take(5, of: "b", besides: 50),
            room.take(1, of: "b"),
        ]
        #expect(isTaken == [true, false, true, true, false])
        #expect(room.bytes == 95)
    }

    @Test("a part is given back with its object")
    func parts() {
        let room = ByteRoom<String>(maxBytes: 100)
        var parts = [room.part(60, of: "a"), room.part(60, of: "a")]
        #expect(parts.map { $0 != nil } == [true, false])
        #expect(room.bytes == 60)
        parts = []
        #expect(room.bytes == 0)
    }
}
