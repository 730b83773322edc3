import HeraldHTTP
import Synchronization
import Testing

@testable import HeraldAPI

@Suite("Wrong keys")
struct WrongKeysTests {
    private final class Reports: Sendable {
        private let all = Mutex<[String]>([])
        func add(_ report: WrongKeys.Report) {
            all.withLock { $0.append("\(report.address.map { "\($0)" } ?? "others") \(report.count)") }
        }
        var texts: [String] { all.withLock { $0 } }
    }

    private static let second: Int64 = 1_000_000_000

    private func address(_ number: Int) -> PeerAddress {
        PeerAddress(high: 0, low: 0xffff_0000_0000 | UInt64(number))
    }

    @Test(
        "ten wrong keys per address and minute get their response at once, further ones late; each minute starts again")
    func promptResponses() {
        let keys = WrongKeys()
        for minute in 0..<3 {
            for number in 1...15 {
                let now = Int64(minute) * 60 * Self.second + Int64(number)
                #expect(keys.record(address(1), now: now) == (number > 10 ? 1_000 : 0), "\(minute) \(number)")
            }
            #expect(keys.record(address(2), now: Int64(minute) * 60 * Self.second + 20) == 0)
        }
        #expect(keys.count == 48)
    }

    @Test("an address is reported once a minute, with the number since the previous report")
    func reports() {
        let reports = Reports()
        let keys = WrongKeys(report: reports.add)
        for number in 0..<20 { _ = keys.record(address(1), now: Int64(number) * Self.second) }
        _ = keys.record(address(2), now: 30 * Self.second)
        #expect(reports.texts == ["0.0.0.1 1", "0.0.0.2 1"])
        for number in 60..<70 { _ = keys.record(address(1), now: Int64(number) * Self.second) }
        #expect(reports.texts.dropFirst(2) == ["0.0.0.1 20"])
        _ = keys.record(address(1), now: 1_000 * Self.second)
        #expect(reports.texts.dropFirst(3) == ["0.0.0.1 10"])
    }

    @Test("an IPv6 /64 network counts as one address")
    func subscriber() {
        let keys = WrongKeys()
        let holds = (1...11).map { keys.record(PeerAddress(high: 0x2a00_1450_0000_0001, low: $0), now: 1) }
        #expect(holds == Array(repeating: 0, count: 10) + [1_000])
    }

    @Test("beyond 4,096 addresses all others count as one, until old ones are removed")
    func bounded() {
        let reports = Reports()
        let keys = WrongKeys(report: reports.add)
        for number in 0..<WrongKeys.maxAddresses { _ = keys.record(address(number), now: 1) }
        let holds = (0..<12).map { keys.record(address(100_000 + $0), now: 2) }
        #expect(holds == Array(repeating: 0, count: 10) + [1_000, 1_000])
        #expect(reports.texts.last == "others 1" && reports.texts.count == WrongKeys.maxAddresses + 1)
        // Those that are known are still counted apart.
        #expect(keys.record(address(1), now: 3) == 0)
        #expect(keys.record(address(100_050), now: 61 * Self.second) == 0)
        #expect(reports.texts.last == "\(address(100_050)) 1")
    }
}
