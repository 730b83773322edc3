import HeraldTestSupport
import Testing

@testable import HeraldCore

@Suite("Requests that wait", .timeLimit(.minutes(20)))
struct LongPollTests {
    @Test("the end of a wait examines no requests of other groups, and keeps the order of arrival")
    func groups() throws {
        let bench = try HubBench()
        let polls = LongPolls<String, Int>(bench.hub) { _ in }
        for number in 0..<10 { polls.add(number, of: number.isMultiple(of: 2) ? "even" : "odd", seconds: 3_600) }
        var examined: [Int] = []
        let taken = polls.take(of: "odd") { number in
            examined.append(number)
            return number > 3
        }
        #expect(examined.sorted() == [1, 3, 5, 7, 9])
        #expect(taken == [5, 7, 9])
        let rest = polls.take(of: "odd")
        #expect(rest == [1, 3])
        let all = polls.takeAll(of: ["odd", "even"]).map(\.request)
        #expect(all == [0, 2, 4, 6, 8])
        #expect(polls.takeAll(of: ["odd", "even"]).isEmpty)
    }
}
