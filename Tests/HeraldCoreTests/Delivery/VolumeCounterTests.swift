import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("The counter of events and attempts", .timeLimit(.minutes(20)))
struct VolumeCounterTests {
    private let counter = VolumeCounter()
    private let hour = 1_000 * Volume.hour
    private let one = AppKey(rawValue: 1)
    private let other = AppKey(rawValue: 2)

    private func sorted(_ volumes: [Volume]) -> [Volume] {
        volumes.sorted { ($0.app.rawValue, $0.start, $0.type) < ($1.app.rawValue, $1.start, $1.type) }
    }

    @Test("apps, types and slots are kept apart, in any order of events")
    func keys() {
        let next = hour + DeliveryStatistics.slot
        for _ in 0..<3 {
            counter.count(events: 1, of: "a.b", app: one, at: hour)
            counter.count(events: 2, of: "a.b", app: one, at: next - 1)
            counter.count(delivered: 1, of: "a.b", app: other, at: hour)
            counter.count(failed: 1, of: "c.d", app: one, at: hour + 7)
            counter.count(events: 1, of: "a.b", app: one, at: next)
            // The clock was set back.
            counter.count(failed: 1, of: "a.b", app: one, at: hour + 1)
        }
        let expected = [
            Volume(app: one, type: "a.b", start: hour, events: 9, failed: 3),
            Volume(app: one, type: "c.d", start: hour, failed: 3),
            Volume(app: one, type: "a.b", start: next, events: 3),
            Volume(app: other, type: "a.b", start: hour, delivered: 3),
        ]
        #expect(sorted(counter.volumes(of: nil)) == expected)
        #expect(sorted(counter.volumes(of: one)) == expected.filter { $0.app == one })
        #expect(sorted(counter.take()) == expected)
        #expect(counter.take().isEmpty)
        counter.count(events: 1, of: "a.b", app: one, at: hour)
        counter.count(events: 1, of: "a.b", app: other, at: hour)
        #expect(counter.volumes(of: other).map(\.delivered) == [3, 0], "those that are being written, and later ones")
        // What could not be written is written with what came since, and what was written is not written again.
        counter.written(except: Array(expected.prefix(1)))
        let later = Volume(app: other, type: "a.b", start: hour, events: 1)
        #expect(
            sorted(counter.take()) == [Volume(app: one, type: "a.b", start: hour, events: 10, failed: 3), later])
        counter.written(except: [])
        #expect(counter.volumes(of: nil).isEmpty)
    }

    @Test("types beyond the limit of an hour are counted together, and by name in the next hour")
    func limit() {
        for number in 0..<Volume.maxTypes + 20 {
            counter.count(events: 1, of: "type.\(number)", app: one, at: hour)
            counter.count(events: 1, of: "other.type", app: other, at: hour)
        }
        counter.count(events: 1, of: "type.\(Volume.maxTypes + 1)", app: one, at: hour + Volume.hour)
        let volumes = sorted(counter.volumes(of: nil))
        #expect(volumes.count == Volume.maxTypes + 3)
        #expect(volumes.first { $0.app == one && $0.type.isEmpty }?.events == 20)
        #expect(volumes.first { $0.app == other }?.events == Volume.maxTypes + 20)
        #expect(volumes.contains { $0.start == hour + Volume.hour && !$0.type.isEmpty })
    }
}
