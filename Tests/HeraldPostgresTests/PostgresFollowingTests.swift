import Glibc
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldPostgres

/// `HERALD_FOLLOWED_EVENTS` sets another number of events, such as 1000000.
@Suite("Following what several processes write", .timeLimit(.minutes(60)))
struct PostgresFollowingTests {
    private static let events = getenv("HERALD_FOLLOWED_EVENTS").flatMap { Int(String(cString: $0)) } ?? 20_000
    private static let eventsPerCrash = max(4_000, events / 40)

    /// Lets the server crash now and then.
    private final class Crashes: Sendable {
        private let server: PostgresServer
        private let next = Mutex(eventsPerCrash)
        let count = Counter()

        init(_ server: PostgresServer) { self.server = server }

        /// Call it when a follower has read a change without a notification.
        func told(_ events: Int) throws {
            let isDue = next.withLock { next in
                guard events >= next, events < PostgresFollowingTests.events else { return false }
                next = events + eventsPerCrash
                return true
            }
            guard isDue else { return }
            try server.crash()
            count.next()
        }
    }

    /// The events that the writers have begun to publish, and the acknowledged ones.
    private final class Published: Sendable {
        let count = Atomic(0)
        let ids = Mutex<[String]>([])
    }

    /// The events that one process has received, and the time of its next read.
    private final class Follower: Sendable {
        struct Told {
            /// The ids, in the order of the log.
            var events: [String] = []
            /// The names, in the order of the list.
            var changes: [Int64] = []
        }
        let told = Mutex(Told())
        let wakeup: Wakeup
        let looks = Counter()

        init() throws { wakeup = try Wakeup() }

        var count: Int { told.withLock { $0.events.count } }

        /// As the hub does: when it is notified, and now and then.
        func follow(_ store: PostgresStore, _ crashes: Crashes) throws {
            var reader = try store.makeReader()
            var nextLook: Double = 0
            while count < PostgresFollowingTests.events {
                wakeup.wait(milliseconds: 250)
                let isFresh = monotonicSeconds() >= nextLook
                if isFresh { nextLook = monotonicSeconds() + 0.25 }
                looks.next()
                let before = count
                do throws(StoreError) {
                    try take(try reader.ends(isFresh: isFresh), reader)
                } catch {
                    // The server is away.
                    guard case .unavailable = error else { throw error }
                    reader = try store.makeReader()
                }
                if isFresh, count > before { try crashes.told(count) }
            }
        }

        private func take(_ ends: StoreEnds, _ reader: any StoreReader) throws(StoreError) {
            var (events, changes) = told.withLock { (LogPosition($0.events.count), Int64($0.changes.count)) }
            while changes < ends.change {
                let sets = try reader.changes(after: changes, limit: 100)
                for set in sets {
                    changes += 1
                    guard set.number == changes else { throw .failed(reason: "\(set.number) instead of \(changes)") }
                }
                told.withLock { $0.changes += sets.map(\.name) }
                if sets.isEmpty { throw .failed(reason: "change \(changes + 1) is missing") }
            }
            while events < ends.event {
                let page = try reader.events(after: events, limit: 500, maxBytes: 1 << 20)
                guard page.first == events + 1, !page.events.isEmpty else {
                    throw .failed(reason: "event \(events + 1) is missing")
                }
                events = page.last
                told.withLock { $0.events += page.events.map(\.id) }
            }
        }
    }

    /// Publishes with pauses until all events are there; now and then it changes something else, too.
    private static func write(
        _ writer: Int, _ store: PostgresStore, _ published: Published
    ) throws -> [String] {
        var random = SeededRandom(seed: UInt64(writer))
        var mine: [String] = []
        while true {
            let count = random.number(1...32)
            let first = published.count.add(count, ordering: .relaxed).oldValue
            if first >= events { return mine }
            let ids = (first..<min(first + count, events)).map { "\($0) of \(writer)" }
            var isUnknown = random.chance(0.1)
            while true {
                do throws(StoreError) {
                    try store.transaction(isUnknown ? .deciding : .publishing) { transaction throws(StoreError) in
                        for id in ids where try transaction.event(app: .default, id: id) == nil {
                            try transaction.append(Event(id: id))
                        }
                        if isUnknown { try transaction.record([.firstEvent], name: Int64(first)) }
                    }
                    break
                } catch {
                    switch error {
                    case .unknown, .outdated: isUnknown = true
                    case .unavailable: usleep(10_000)
                    default: throw error
                    }
                }
            }
            mine += ids
            usleep(UInt32(random.number(0...20) * random.number(0...200)))
        }
    }

    @Test("notifications for which there was no descriptor at the start begin later")
    func listensLater() async throws {
        let database = try TestDatabase()
        let (tries, notified) = (Counter(), Counter())
        let listener = Listener(try Database(url: database.url), DurableEnds()) { () throws(SystemError) -> Wakeup in
            if tries.next() == 1 { throw SystemError(call: "eventfd", code: EMFILE) }
            return try Wakeup()
        }
        defer { listener.close() }
        listener.start {
            notified.next()
            return true
        }
        #expect(tries.value == 1 && notified.value == 0)
        listener.startIfDue()
        try await eventually("it listens") { notified.value == 1 }
        listener.startIfDue()
        #expect(tries.value == 2)
    }

    @Test("8 writers, 3 followers, a server that crashes: each number once and in order, none before its flush")
    func following() async throws {
        // Flushes take long, and there are no others: what is told too early is gone after the next crash.
        let server = try PostgresServer([
            "fsync=on", "commit_delay=20000", "commit_siblings=0", "wal_writer_delay=10s", "wal_writer_flush_after=1GB",
        ])
        let database = try TestDatabase(on: server)
        let published = Published()
        let crashes = Crashes(server)
        let followers = try (0..<3).map { _ in try Follower() }
        let stores = try (0..<11).map { _ in try database.open() }
        for (follower, store) in zip(followers, stores[8...]) {
            store.observe {
                follower.wakeup.signal()
                return true
            }
        }
        for store in stores[..<8] { store.observe { true } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, store) in stores[..<8].enumerated() {
                group.addTask {
                    try await RawHTTP.onThread {
                        let mine = try Self.write(number, store, published)
                        published.ids.withLock { $0 += mine }
                    }
                }
            }
            for (follower, store) in zip(followers, stores[8...]) {
                group.addTask {
                    try await RawHTTP.onThread { try follower.follow(store, crashes) }
                }
            }
            try await group.waitForAll()
        }
        let told = followers.map { $0.told.withLock { $0 } }
        let looks = followers.map(\.looks.value)
        print(
            "\(told.map(\.events.count)) events, \(told.map(\.changes.count)) changes in \(looks) looks, \(crashes.count.value) crashes"
        )
        #expect(crashes.count.value > 0)
        let reader = try stores[0].makeReader()
        #expect(try reader.lastEvent() == Self.events)
        var there: [String] = []
        while there.count < Self.events {
            let page = try reader.events(after: LogPosition(there.count), limit: 10_000, maxBytes: .max).events
            if page.isEmpty { break }
            there += page.map(\.id)
        }
        let changes = try reader.changes(after: 0, limit: .max).map(\.name)
        #expect(there.count == Self.events && Set(there) == Set(published.ids.withLock { $0 }))
        for one in told {
            // Not compared by a macro, which would print them.
            let isRight = one.events == there && changes.starts(with: one.changes)
            #expect(isRight, "what was told is not what is there")
        }
        for store in stores { store.close() }
    }
}
