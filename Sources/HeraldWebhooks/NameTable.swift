import HeraldModel
import HeraldRuntime

/// The state of a resolver: the addresses and failures that it caches, and the names that are looked up or wait for it.
/// A value without I/O; times are nanoseconds of the monotonic clock.
///
/// - Addresses are fresh for 30 s. For as long again they are used while a refresh runs, so a busy name never waits. For
///   an hour they are used when a refresh is late or the name servers fail, because a name server that does not
///   respond says nothing about the host.
/// - A failure is remembered for 5 s, and twice as long each time it repeats, up to a minute.
/// - The number of lookups is bounded. An app never has more of them than are free, so that apps with names that no
///   server answers leave room for others, and a free one goes to the app that has the fewest.
struct NameTable {
    private struct Record {
        var addresses: [IPAddress] = []
        var foundAt: Int64 = 0
        /// Why the last lookup failed.
        var failure: String?
        var failures = 0
        /// No lookup begins before.
        var retryAt = Int64.min
        var lastUsed: Int64 = 0
    }

    /// A name that is looked up, or waits for it.
    private struct Search {
        let app: AppKey
        let askedAt: Int64
        var waiters: [Mailbox<Resolver.Reply>] = []
        /// When its lookup began; `nil` while it waits.
        var begunAt: Int64?
        var isOpen: Bool { begunAt != nil }
        /// It has taken so long that addresses of an earlier time are used.
        var isLate = false
        /// It was recorded as a failure.
        var isOverdue = false
    }

    static let maxAddresses = 16
    private static let second: Int64 = 1_000_000_000
    private static let freshTime = 30 * second
    private static let usableTime = 60 * second
    private static let staleTime = 3_600 * second
    private static let lateTime = second / 2
    private static let overdueTime = 5 * second
    private static let failureTimes = (first: 5 * second, longest: 60 * second)
    private static let maxRecords = 4096

    private let maxOpen: Int
    private let maxWaiting: Int
    private var records: [String: Record] = [:]
    private var searches: [String: Search] = [:]
    /// Names that wait for a lookup, oldest first.
    private var queues: [AppKey: FIFO<String>] = [:]
    private var waitingCount = 0
    private var openCount = 0
    private var openCounts: [AppKey: Int] = [:]
    /// The names that are not late yet, in the order of their first request: also those that wait for a lookup.
    private var late = FIFO<(askedAt: Int64, host: String)>()
    /// The lookups that are not overdue yet, in the order in which they began.
    private var overdue = FIFO<(begunAt: Int64, host: String)>()

    /// - Parameters:
    ///   - maxOpen: maximum number of concurrent lookups.
    ///   - maxWaiting: maximum number of names that wait for one; further lookups fail at once.
    init(maxOpen: Int, maxWaiting: Int) {
        self.maxOpen = maxOpen
        self.maxWaiting = maxWaiting
    }

    // MARK: Requests

    /// Returns the cached result for a name; if there is none, `nil`, and the result will be posted to the mailbox.
    mutating func resolve(
        _ host: String, _ app: AppKey, _ mailbox: Mailbox<Resolver.Reply>, _ now: Int64
    ) -> Resolver.Entry? {
        records[host]?.lastUsed = now
        guard let record = records[host] else { return search(host, app, mailbox, now) }
        if record.addresses.isEmpty {
            if record.retryAt > now, let failure = record.failure {
                return Resolver.Entry(answer: .failed(failure), expiresAt: record.retryAt)
            }
            return search(host, app, mailbox, now)
        }
        let age = now - record.foundAt
        if age < Self.freshTime {
            return Resolver.Entry(answer: .addresses(record.addresses), expiresAt: record.foundAt + Self.freshTime)
        }
        if record.retryAt > now, age < Self.staleTime {
            return Resolver.Entry(
                answer: .addresses(record.addresses), expiresAt: min(record.retryAt, now + 5 * Self.second))
        }
        if age < Self.usableTime || age < Self.staleTime && searches[host]?.isLate == true {
            if searches[host] == nil { _ = search(host, app, nil, now) }
            return Self.borrowed(record, now)
        }
        return search(host, app, mailbox, now)
    }

    /// Addresses that are about to be replaced.
    private static func borrowed(_ record: Record, _ now: Int64) -> Resolver.Entry {
        Resolver.Entry(answer: .addresses(record.addresses), expiresAt: now + second)
    }

    private mutating func search(
        _ host: String, _ app: AppKey, _ mailbox: Mailbox<Resolver.Reply>?, _ now: Int64
    ) -> Resolver.Entry? {
        if var search = searches[host] {
            if let mailbox { search.waiters.append(mailbox) }
            searches[host] = search
            // The name may wait among many of another app.
            if !search.isOpen, search.app != app { enqueue(host, app) }
            return nil
        }
        guard enqueue(host, app) else {
            if let record = records[host], !record.addresses.isEmpty, now - record.foundAt < Self.staleTime {
                return Self.borrowed(record, now)
            }
            let reason = "too many names wait to be looked up"
            return Resolver.Entry(answer: .unavailable(reason), expiresAt: now)
        }
        searches[host] = Search(app: app, askedAt: now, waiters: mailbox.map { [$0] } ?? [])
        late.append((now, host))
        return nil
    }

    /// - Returns: whether there was room: an app never has more waiting names than there is room left.
    @discardableResult
    private mutating func enqueue(_ host: String, _ app: AppKey) -> Bool {
        guard queues[app]?.count ?? 0 < maxWaiting - waitingCount else { return false }
        queues[app, default: FIFO()].append(host)
        waitingCount += 1
        return true
    }

    // MARK: Lookups

    /// The names whose lookups begin now.
    mutating func begin(_ now: Int64) -> [String] {
        var hosts: [String] = []
        while openCount < maxOpen, let host = next() {
            guard var search = searches[host], !search.isOpen else { continue }
            search.begunAt = now
            searches[host] = search
            openCount += 1
            openCounts[search.app, default: 0] += 1
            overdue.append((now, host))
            hosts.append(host)
        }
        return hosts
    }

    /// Removes the first name of the app that has the fewest lookups, if it may have another one.
    private mutating func next() -> String? {
        let free = maxOpen - openCount
        let candidates = queues.keys.lazy.filter { [openCounts] in openCounts[$0] ?? 0 < free }
        guard let app = candidates.min(by: { openCounts[$0] ?? 0 < openCounts[$1] ?? 0 }),
            let host = queues[app]?.popFirst()
        else { return nil }
        if queues[app]?.count == 0 { queues[app] = nil }
        waitingCount -= 1
        return host
    }

    /// Records the result of a lookup.
    mutating func end(_ host: String, _ answer: Resolver.Answer, _ now: Int64) -> [Delivery] {
        guard let search = searches.removeValue(forKey: host) else { return [] }
        if search.isOpen {
            openCount -= 1
            let count = (openCounts[search.app] ?? 1) - 1
            openCounts[search.app] = count > 0 ? count : nil
        }
        // An overdue lookup has failed already.
        if case .unavailable = answer, search.isOverdue, search.waiters.isEmpty { return [] }
        let entry = record(host, answer, now)
        return search.waiters.map { Delivery(mailbox: $0, reply: .init(host: host, entry: entry)) }
    }

    /// A reply, and where to post it.
    struct Delivery {
        let mailbox: Mailbox<Resolver.Reply>
        let reply: Resolver.Reply
    }

    private mutating func record(_ host: String, _ answer: Resolver.Answer, _ now: Int64) -> Resolver.Entry {
        if records.count >= Self.maxRecords, records[host] == nil { forgetRarelyUsed() }
        var record = records[host] ?? Record()
        record.lastUsed = now
        defer { records[host] = record }
        let answer = answer == .addresses([]) ? .failed("the name has no address") : answer
        switch answer {
        case .addresses(let addresses):
            record = Record(addresses: Array(addresses.prefix(Self.maxAddresses)), foundAt: now, lastUsed: now)
            return Resolver.Entry(answer: .addresses(record.addresses), expiresAt: now + Self.freshTime)
        case .failed(let reason), .unavailable(let reason): record.failure = reason
        case .lacking:
            let isUsable = !record.addresses.isEmpty && now - record.foundAt < Self.staleTime
            return isUsable ? Self.borrowed(record, now) : Resolver.Entry(answer: answer, expiresAt: now)
        }
        record.retryAt =
            now + min(Self.failureTimes.first << Int64(min(record.failures, 8)), Self.failureTimes.longest)
        record.failures += 1
        if case .unavailable = answer, !record.addresses.isEmpty, now - record.foundAt < Self.staleTime {
            return Self.borrowed(record, now)
        }
        record.addresses = []
        return Resolver.Entry(answer: answer, expiresAt: record.retryAt)
    }

    /// Removes the least recently used quarter.
    private mutating func forgetRarelyUsed() {
        let oldest = records.sorted { $0.value.lastUsed < $1.value.lastUsed }.prefix(Self.maxRecords / 4)
        for (host, _) in oldest { records[host] = nil }
    }

    // MARK: Time

    /// When `expire` has something to do; `max` for never.
    var nextAt: Int64 {
        min(
            late.first.map { $0.askedAt + Self.lateTime } ?? .max,
            overdue.first.map { $0.begunAt + Self.overdueTime } ?? .max)
    }

    /// Ends the wait for lookups that take long.
    mutating func expire(_ now: Int64) -> [Delivery] {
        var deliveries: [Delivery] = []
        while let first = late.first, first.askedAt + Self.lateTime <= now {
            late.removeFirst()
            guard var search = searches[first.host], search.askedAt == first.askedAt else { continue }
            search.isLate = true
            if let record = records[first.host], !record.addresses.isEmpty, now - record.foundAt < Self.staleTime {
                let reply = Resolver.Reply(host: first.host, entry: Self.borrowed(record, now))
                deliveries += search.waiters.map { Delivery(mailbox: $0, reply: reply) }
                search.waiters = []
            }
            searches[first.host] = search
        }
        while let first = overdue.first, first.begunAt + Self.overdueTime <= now {
            overdue.removeFirst()
            guard var search = searches[first.host], search.begunAt == first.begunAt else { continue }
            let entry = record(first.host, .unavailable("no response to the lookup in time"), now)
            deliveries += search.waiters.map {
                Delivery(mailbox: $0, reply: .init(host: first.host, entry: entry))
            }
            search.waiters = []
            search.isOverdue = true
            searches[first.host] = search
        }
        return deliveries
    }
}
