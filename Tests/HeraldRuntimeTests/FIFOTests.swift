import HeraldRuntime
import Testing

@Suite("A queue")
struct FIFOTests {
    @Test("returns elements in order, for any number and timing")
    func order() {
        var queue = FIFO<Int>()
        var expected = 0
        for number in 0..<10_000 {
            queue.append(number)
            if number % 3 == 0 {
                #expect(queue.first == expected)
                let taken = queue.removeFirst()
                #expect(taken == expected)
                expected += 1
            }
            #expect(queue.count == number + 1 - expected)
        }
        while let next = queue.popFirst() {
            #expect(next == expected)
            expected += 1
        }
        #expect(expected == 10_000)
        #expect(queue.isEmpty && queue.first == nil)
    }

    @Test("is empty after everything was removed, and usable")
    func emptied() {
        var queue = FIFO<Int>()
        for number in 0..<3 { queue.append(number) }
        queue.removeFirst()
        queue.removeAll()
        #expect(queue.isEmpty)
        queue.append(5)
        #expect(Array(queue) == [5])
    }

    @Test("an element that is prepended is the first, also after removals")
    func prepended() {
        var queue = FIFO<Int>()
        queue.prepend(1)
        queue.append(2)
        queue.prepend(0)
        #expect(Array(queue) == [0, 1, 2])
        queue.removeFirst()
        queue.prepend(7)
        #expect(Array(queue) == [7, 1, 2])
    }

    @Test("is a collection that starts at its front, also after removals")
    func collection() {
        var queue = FIFO<Int>()
        for number in 0..<100 { queue.append(number) }
        for _ in 0..<10 { queue.removeFirst() }
        #expect(queue[0] == 10 && queue[89] == 99 && queue.last == 99)
        queue[1] = -1
        #expect(queue.elements(0..<3) == [10, -1, 12])
        #expect(queue.contains(99) && !queue.contains(9))
        queue.removeAll { $0 % 2 != 0 }
        #expect(queue.first == 10 && queue.count == 45 && queue.slack == 0)
    }

    @Test("releases an element at once that is taken")
    func take() {
        final class Item {}
        var queue = FIFO<Item?>()
        for _ in 0..<1_000 { queue.append(Item()) }
        weak let first = queue[0]
        let taken = queue.takeFirst()
        #expect(first != nil && taken === first)
        withExtendedLifetime(taken) {}
        for _ in 0..<10 {
            weak let next = queue[0]
            #expect(queue.takeFirst() != nil && next == nil)
        }
        #expect(queue.count == 989)
        while queue.takeFirst() != nil {}
        #expect(queue.isEmpty)
    }

    @Test("releases removed elements, at the latest when they are half of it")
    func release() {
        final class Item {}
        var queue = FIFO<Item>()
        for _ in 0..<1_000 { queue.append(Item()) }
        weak let first = queue.first
        #expect(first != nil)
        queue.removeFirst()
        #expect(first != nil && queue.slack == 1)
        queue.compact()
        #expect(first == nil && queue.slack == 0)
        for _ in 0..<998 {
            queue.removeFirst()
            #expect(queue.slack < 64 || queue.slack < queue.count)
        }
    }
}
