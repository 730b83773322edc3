import HeraldRuntime
import Testing

@Suite("Threads and sorted collections")
struct ThreadTests {
    @Test("two functions run at the same time, and both results are returned")
    func together() throws {
        // Each waits for the other: one after the other, neither would end.
        let (first, second) = (Semaphore(), Semaphore())
        let results = Thread.together(name: "other") {
            first.signal()
            second.wait()
            return "other"
        } _: {
            first.wait()
            second.signal()
            return "own"
        }
        #expect(results.other == "other" && results.own == "own")
    }

    @Test("a search in a sorted collection finds the first element that is not before the searched one")
    func search() {
        let numbers = [2, 4, 4, 8]
        #expect(
            (0...9).map { wanted in numbers.firstIndex(ascending: { $0 >= wanted }) } == [0, 0, 0, 1, 1, 3, 3, 3, 3, 4])
        #expect(numbers[2...].firstIndex(ascending: { $0 >= 8 }) == 3)
        #expect([Int]().firstIndex(ascending: { _ in true }) == 0)
    }
}
