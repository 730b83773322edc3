import HeraldRuntime
import Testing

@Suite("The queue in which keys take turns", .timeLimit(.minutes(20)))
struct TurnQueueTests {
    @Test("a key with many elements does not delay the others, and keeps their order")
    func turns() {
        var queue = TurnQueue<String, Int>()
        for number in 0..<100 { queue.append(number, of: "many") }
        queue.append(1_000, of: "few")
        queue.append(2_000, of: "one")
        queue.append(1_001, of: "few")
        #expect(queue.count == 103 && queue.count(of: "few") == 2 && queue.elements.count == 103)
        let taken = (0..<5).compactMap { _ in queue.takeFirst() }
        #expect(taken == [0, 1_000, 2_000, 1, 1_001])
        var rest: [Int] = []
        while let next = queue.takeFirst() { rest.append(next) }
        #expect(rest == Array(2..<100))
        #expect(queue.isEmpty && queue.count(of: "many") == 0)
        queue.append(7, of: "many")
        #expect(queue.takeFirst() == 7 && queue.takeFirst() == nil)
    }
}
