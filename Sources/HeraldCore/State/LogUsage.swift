import HeraldDelivery
package import HeraldModel
import HeraldRuntime
import Synchronization

/// The number of events and bytes of each app in the log, by block. It returns how far an app is behind, how much it
/// stores, and where to search for its events, without reading the events of other apps.
///
/// The writer's thread changes it after the commit; any thread reads it. The lock is held while the blocks of one app are visited.
package final class LogUsage: Sendable {
    private struct Usage {
        var events: Int64 = 0
        var bytes: Int64 = 0
        /// The blocks in which the app has events, ascending.
        var blocks: [AppBlock] = []
        /// The number of events before each block; not complete after a change of an earlier block, until it is needed.
        private var earlier: [Int64] = []

        /// The number of events in later blocks. A list or the metrics call it for each delegate that is behind.
        mutating func events(behind block: Int64) -> Int64 {
            let index = index(of: block + 1)
            if index == blocks.count { return 0 }
            if earlier.count < blocks.count {
                var sum: Int64 = 0
                earlier = blocks.map { found in
                    defer { sum += found.events }
                    return sum
                }
            }
            return events - earlier[index]
        }

        /// Where the block is, or the first one behind it.
        func index(of block: Int64) -> Int {
            // Mostly one of the last.
            if let last = blocks.last, last.block < block { return blocks.count }
            return blocks.firstIndex(ascending: { $0.block >= block })
        }

        func part(of block: Int64) -> AppBlock? {
            let index = index(of: block)
            return index < blocks.count && blocks[index].block == block ? blocks[index] : nil
        }

        /// - Parameter found: the new contents of the block; `nil` for none.
        mutating func set(_ block: Int64, _ found: AppBlock?) {
            let index = index(of: block)
            if index < blocks.count, blocks[index].block == block {
                let old = blocks.remove(at: index)
                earlier = []
                events -= old.events
                bytes -= old.bytes
            }
            guard let found, found.events > 0 else { return }
            blocks.insert(found, at: index)
            earlier = []
            events += found.events
            bytes += found.bytes
        }

        mutating func add(_ more: AppBlock) {
            events += more.events
            bytes += more.bytes
            if let last = blocks.indices.last, blocks[last].block == more.block {
                blocks[last].events += more.events
                blocks[last].bytes += more.bytes
            } else {
                if earlier.count == blocks.count { earlier.append(events - more.events) }
                blocks.append(more)
            }
        }

        mutating func forget(before block: Int64) {
            let gone = blocks.prefix { $0.block < block }
            events -= gone.reduce(0) { $0 + $1.events }
            bytes -= gone.reduce(0) { $0 + $1.bytes }
            blocks.removeFirst(gone.count)
            earlier = []
        }
    }

    private struct Contents {
        var usages: [AppKey: Usage] = [:]
        var first: LogPosition
        var head: LogPosition
        /// The numbers of the blocks whose counts are not as many as their positions, mostly because events were removed.
        var uneven = RangeSet<Int64>()

        /// Keeps nothing of an app without events, which may have been deleted.
        mutating func forgetIfEmpty(_ app: AppKey) {
            if usages[app]?.blocks.isEmpty == true { usages[app] = nil }
        }

        /// - Parameter events: the number of events of all apps in the block.
        mutating func compare(_ block: Int64, events: Int64) {
            let places = AppBlock.places(block)
            if events == min(places.upperBound, head) - max(places.lowerBound, first) + 1 {
                uneven.remove(contentsOf: block..<block + 1)
            } else {
                uneven.insert(contentsOf: block..<block + 1)
            }
        }
    }

    private let contents: Mutex<Contents>
    private let recentEvents: RecentEvents

    init(_ recovery: Recovery, _ recentEvents: RecentEvents) {
        var contents = Contents(first: recovery.first, head: recovery.head)
        var counts: [Int64: Int64] = [:]
        for block in recovery.blocks.sorted(by: { $0.block < $1.block }) {
            contents.usages[block.app, default: Usage()].add(block)
            counts[block.block, default: 0] += block.events
        }
        if recovery.first <= recovery.head {
            // Of some, nothing is left to count.
            contents.uneven.insert(
                contentsOf: AppBlock.number(of: recovery.first)..<AppBlock.number(of: recovery.head) + 1)
        }
        for (block, events) in counts.sorted(by: { $0.key < $1.key }) { contents.compare(block, events: events) }
        self.contents = Mutex(contents)
        self.recentEvents = recentEvents
    }

    // MARK: The writer's thread

    func add(_ batch: EventBatch) {
        contents.withLock { contents in
            var run: AppBlock?
            for (index, event) in batch.events.enumerated() {
                let block = AppBlock.number(of: batch.first + LogPosition(index))
                if run?.app != event.app || run?.block != block {
                    if let run { contents.usages[run.app, default: Usage()].add(run) }
                    run = AppBlock(app: event.app, block: block, events: 0, bytes: 0)
                }
                run?.add(event)
            }
            if let run { contents.usages[run.app, default: Usage()].add(run) }
            contents.head = batch.last
        }
    }

    /// The counts of a block.
    func parts(of block: Int64) -> [AppBlock] {
        contents.withLock { contents in contents.usages.values.compactMap { $0.part(of: block) } }
    }

    /// Replaces the counts of a block.
    func set(_ block: Int64, _ found: [AppBlock]) {
        contents.withLock { contents in
            let present = Set(found.map(\.app))
            for app in Array(contents.usages.keys) where !present.contains(app) {
                contents.usages[app]?.set(block, nil)
                contents.forgetIfEmpty(app)
            }
            for part in found { contents.usages[part.app, default: Usage()].set(block, part) }
            contents.compare(block, events: found.reduce(0) { $0 + $1.events })
        }
    }

    /// Removes everything before the first position of the log.
    func trim(first: LogPosition) {
        contents.withLock { contents in
            for app in Array(contents.usages.keys) {
                contents.usages[app]?.forget(before: AppBlock.number(of: first))
                contents.forgetIfEmpty(app)
            }
            contents.first = first
            contents.uneven.remove(contentsOf: 0..<max(0, AppBlock.number(of: first)))
        }
    }

    // MARK: Any thread

    /// The number of apps with events.
    var apps: Int { contents.withLock { $0.usages.count } }

    /// The events and bytes of an app in the log.
    package func total(of app: AppKey) -> (events: Int64, bytes: Int64) {
        contents.withLock { contents in contents.usages[app].map { ($0.events, $0.bytes) } ?? (0, 0) }
    }

    /// The events and bytes of all apps in the log.
    var total: (events: Int64, bytes: Int64) {
        contents.withLock { contents in
            contents.usages.values.reduce(into: (0, 0)) { $0 = ($0.0 + $1.events, $0.1 + $1.bytes) }
        }
    }

    /// The app that stores most, and its bytes; `nil` if the log is empty.
    package var largest: (app: AppKey, bytes: Int64)? {
        contents.withLock { contents in
            guard let found = contents.usages.max(by: { $0.value.bytes < $1.value.bytes }), found.value.events > 0
            else {
                return nil
            }
            return (found.key, found.value.bytes)
        }
    }

    /// The number of events of an app after a position.
    ///
    /// Exact if the app is alone in the block of the position, or the block is still in memory. Otherwise the block
    /// counts as a whole: up to 1,023 too many.
    package func events(of app: AppKey, after place: LogPosition) -> Int64 {
        let (later, part) = contents.withLock { contents -> (Int64, Part?) in
            let place = max(place, contents.first - 1)
            guard place < contents.head else { return (0, nil) }
            let block = AppBlock.number(of: place + 1)
            let log = contents.first...contents.head
            let later = contents.usages[app]?.events(behind: block) ?? 0
            return (later, contents.usages[app]?.part(of: block).map { Part($0, after: place, log) })
        }
        return later + (part?.count(in: recentEvents) ?? 0)
    }

    /// The part of the log after a position in which an app has no events and none were removed.
    /// - Returns: the last position of this part, and whether something else follows.
    func gap(of app: AppKey, after place: LogPosition) -> (end: LogPosition, isFollowed: Bool) {
        contents.withLock { contents in
            if place + 1 < contents.first { return (place, true) }
            let block = AppBlock.number(of: place + 1)
            var next: [Int64] = []
            let ranges = contents.uneven.ranges
            let index = ranges.firstIndex(ascending: { $0.upperBound > block })
            if index < ranges.endIndex { next.append(max(block, ranges[index].lowerBound)) }
            if let usage = contents.usages[app] {
                let index = usage.index(of: block)
                if index < usage.blocks.count { next.append(usage.blocks[index].block) }
            }
            guard let end = next.min() else { return (max(place, contents.head), false) }
            return (max(place, AppBlock.places(end).lowerBound - 1), true)
        }
    }

    /// The ranges of positions with events of an app, ascending. There are none in between.
    package func stretches(of app: AppKey) -> [ClosedRange<LogPosition>] {
        searchParts(of: app, before: .max, work: .max).parts.reversed()
    }

    /// The ranges of positions before `place` to search for events of an app, last range first, limited by `work`.
    /// - Parameter work: the maximum number of rows to read; one block more is possible. For `default`, all events of a
    ///   range count; for other apps, which have an index, only their own.
    /// - Returns: the ranges, and the position before which the search continues; `nil` if it is complete.
    package func searchParts(
        of app: AppKey, before place: LogPosition, work: Int64
    ) -> (parts: [ClosedRange<LogPosition>], rest: LogPosition?) {
        contents.withLock { contents in
            var parts: [ClosedRange<LogPosition>] = []
            var spent: Int64 = 0
            let end = min(place - 1, contents.head)
            for found in (contents.usages[app]?.blocks ?? []).reversed() {
                let places = AppBlock.places(found.block)
                guard places.lowerBound <= end else { continue }
                if spent >= work { return (parts, parts.last?.lowerBound) }
                spent += app == .default ? places.upperBound - places.lowerBound + 1 : found.events
                if let last = parts.last, last.lowerBound == places.upperBound + 1 {
                    parts[parts.count - 1] = places.lowerBound...last.upperBound
                } else {
                    parts.append(places.lowerBound...min(places.upperBound, end))
                }
            }
            return (parts, nil)
        }
    }

    /// A block of which only the part after a position is counted.
    private struct Part {
        let block: AppBlock
        let place: LogPosition
        let end: LogPosition
        let isAlone: Bool

        /// - Parameter log: the positions that are in the log.
        init(_ block: AppBlock, after place: LogPosition, _ log: ClosedRange<LogPosition>) {
            let places = AppBlock.places(block.block).clamped(to: log)
            self.block = block
            self.place = place
            end = places.upperBound
            isAlone = block.events == places.upperBound - places.lowerBound + 1
        }

        func count(in recentEvents: RecentEvents) -> Int64 {
            if isAlone { return end - place }
            switch recentEvents.slice(after: place, limit: Int(end - place)) {
            case .events(let batch): return Int64(batch.events.count { $0.app == block.app })
            case .end: return 0
            case .gone: return block.events
            }
        }
    }
}
