import HeraldModel
import HeraldRuntime
import Testing

@testable import HeraldWebhooks

/// The rules of the resolver, without I/O and with a time of their own.
@Suite struct NameTableTests {
    private let mailbox = Mailbox<Resolver.Reply>(wake: {})
    private let second: Int64 = 1_000_000_000
    private let address = IPAddress(v4: 0xC000_0201)
    private let other = IPAddress(v4: 0xC000_0202)

    private func app(_ number: Int64) -> AppKey { AppKey(rawValue: number) }

    private func addresses(_ entry: Resolver.Entry?) -> [IPAddress]? {
        if case .addresses(let addresses) = entry?.answer { return addresses }
        return nil
    }

    /// A table that has found the address of `a` at the time 0.
    private func known() throws -> NameTable {
        var table = NameTable(maxOpen: 8, maxWaiting: 16)
        #expect(table.resolve("a", app(1), mailbox, 0) == nil)
        #expect(table.begin(0) == ["a"])
        #expect(table.end("a", .addresses([address]), 0).count == 1)
        return table
    }

    @Test("a name in use is refreshed while its addresses are used, and nothing waits")
    func refresh() throws {
        var table = try known()
        #expect(addresses(table.resolve("a", app(1), mailbox, 29 * second)) == [address])
        #expect(table.begin(29 * second).isEmpty)
        #expect(addresses(table.resolve("a", app(1), mailbox, 31 * second)) == [address])
        #expect(table.begin(31 * second) == ["a"])
        #expect(addresses(table.resolve("a", app(1), mailbox, 32 * second)) == [address])
        #expect(table.begin(32 * second).isEmpty)
        #expect(table.end("a", .addresses([other]), 32 * second).isEmpty)
        #expect(addresses(table.resolve("a", app(1), mailbox, 32 * second)) == [other])
    }

    @Test("the last known addresses are used half a second after a refresh is late, for an hour")
    func stale() throws {
        var table = try known()
        let later = 600 * second
        #expect(table.resolve("a", app(1), mailbox, later) == nil)
        #expect(table.begin(later) == ["a"])
        #expect(table.expire(later).isEmpty)
        #expect(table.nextAt == later + second / 2)
        let late = table.expire(later + second / 2)
        #expect(late.map { addresses($0.reply.entry) } == [[address]])
        // The lookup is known to be late.
        #expect(addresses(table.resolve("a", app(1), mailbox, later + second)) == [address])
        // It fails. The addresses stay, and the next lookup begins after the backoff.
        #expect(table.expire(later + 5 * second).isEmpty)
        #expect(table.end("a", .unavailable("timeout"), later + 6 * second).isEmpty)
        #expect(addresses(table.resolve("a", app(1), mailbox, later + 6 * second)) == [address])
        #expect(table.begin(later + 6 * second).isEmpty)
        // Not for ever.
        #expect(table.resolve("a", app(1), mailbox, 3_700 * second) == nil)
        #expect(table.begin(3_700 * second) == ["a"])
        #expect(table.expire(3_700 * second + second / 2).isEmpty)
    }

    @Test("the last known addresses are used also while the refresh waits for others, or finds no room")
    func staleInQueue() {
        var table = NameTable(maxOpen: 2, maxWaiting: 3)
        #expect(table.resolve("a", app(1), mailbox, 0) == nil)
        #expect(table.begin(0) == ["a"])
        #expect(table.end("a", .addresses([address]), 0).count == 1)
        let later = 600 * second
        #expect(table.resolve("b", app(1), mailbox, later) == nil)
        #expect(table.begin(later) == ["b"])
        #expect(table.resolve("a", app(1), mailbox, later) == nil)
        // One app leaves a lookup to others.
        #expect(table.begin(later).isEmpty)
        let late = table.expire(later + second / 2)
        #expect(late.map { addresses($0.reply.entry) } == [[address]])
        #expect(addresses(table.resolve("a", app(1), mailbox, later + 4 * second)) == [address])
        var full = NameTable(maxOpen: 1, maxWaiting: 1)
        #expect(full.resolve("a", app(1), mailbox, 0) == nil)
        #expect(full.begin(0) == ["a"])
        #expect(full.end("a", .addresses([address]), 0).count == 1)
        #expect(full.resolve("b", app(1), mailbox, later) == nil)
        #expect(addresses(full.resolve("a", app(1), mailbox, later)) == [address])
    }

    @Test("a name that has no address any more is not called at its old one")
    func gone() throws {
        var table = try known()
        #expect(table.resolve("a", app(1), mailbox, 100 * second) == nil)
        #expect(table.begin(100 * second) == ["a"])
        let replies = table.end("a", .failed("not found"), 100 * second)
        #expect(replies.map(\.reply.entry.answer) == [.failed("not found")])
        #expect(table.resolve("a", app(1), mailbox, 101 * second)?.answer == .failed("not found"))
    }

    @Test("a failure is remembered, twice as long each time, up to a minute")
    func failures() throws {
        var table = NameTable(maxOpen: 8, maxWaiting: 16)
        var now: Int64 = 0
        for wait in [5, 10, 20, 40, 60, 60] as [Int64] {
            #expect(table.resolve("a", app(1), mailbox, now) == nil)
            #expect(table.begin(now) == ["a"])
            #expect(table.end("a", .unavailable("timeout"), now).count == 1)
            let end = now + wait * second
            #expect(table.resolve("a", app(1), mailbox, end - 1)?.answer == .failed("timeout"))
            #expect(table.resolve("a", app(1), mailbox, end - 1)?.expiresAt == end)
            now = end
        }
    }

    @Test("a lookup that this machine could not make says nothing about the name, and the next one begins at once")
    func lacking() throws {
        let lack = Resolver.Answer.lacking("Too many open files")
        var table = NameTable(maxOpen: 8, maxWaiting: 16)
        for now in [0, 1] as [Int64] {
            #expect(table.resolve("a", app(1), mailbox, now) == nil)
            #expect(table.begin(now) == ["a"])
            let replies = table.end("a", lack, now)
            #expect(replies.map(\.reply.entry.answer) == [lack])
            #expect(replies.map(\.reply.entry.expiresAt) == [now])
        }
        // Addresses that are known stay.
        var stale = try known()
        #expect(stale.resolve("a", app(1), mailbox, 600 * second) == nil)
        #expect(stale.begin(600 * second) == ["a"])
        let replies = stale.end("a", lack, 600 * second)
        #expect(replies.map { addresses($0.reply.entry) } == [[address]])
    }

    @Test("a lookup without a response fails after five seconds, and its late response is used")
    func overdue() throws {
        var table = NameTable(maxOpen: 8, maxWaiting: 16)
        #expect(table.resolve("a", app(1), mailbox, 0) == nil)
        #expect(table.begin(0) == ["a"])
        #expect(table.expire(4 * second).isEmpty)
        #expect(table.expire(5 * second).count == 1)
        #expect(table.resolve("a", app(1), mailbox, 6 * second)?.answer == .failed("no response to the lookup in time"))
        #expect(table.end("a", .addresses([address]), 7 * second).isEmpty)
        #expect(addresses(table.resolve("a", app(1), mailbox, 8 * second)) == [address])
    }

    @Test("an app with any number of silent names leaves lookups for others")
    func shares() throws {
        var table = NameTable(maxOpen: 8, maxWaiting: 1000)
        for number in 0..<100 { #expect(table.resolve("silent-\(number)", app(1), mailbox, 0) == nil) }
        #expect(table.begin(0).count == 4)
        for number in 0..<100 { #expect(table.resolve("quiet-\(number)", app(2), mailbox, 0) == nil) }
        #expect(table.begin(0).count == 2)
        #expect(table.resolve("good", app(3), mailbox, 0) == nil)
        #expect(table.begin(0) == ["good"])
        // The one that becomes free goes to the app that has fewest.
        #expect(table.end("good", .failed("none"), 0).count == 1)
        #expect(table.resolve("better", app(4), mailbox, 0) == nil)
        #expect(table.begin(0) == ["better"])
    }

    @Test("a name that waits among many of another app is resolved in its own app's turn")
    func sharedName() throws {
        var table = NameTable(maxOpen: 2, maxWaiting: 1000)
        for number in 0..<100 { #expect(table.resolve("silent-\(number)", app(1), mailbox, 0) == nil) }
        #expect(table.begin(0) == ["silent-0"])
        #expect(table.resolve("silent-99", app(2), mailbox, 0) == nil)
        #expect(table.begin(0) == ["silent-99"])
        #expect(table.end("silent-99", .failed("none"), 0).count == 2)
    }

    @Test("an app that fills the queue leaves room in it for others")
    func room() throws {
        var table = NameTable(maxOpen: 1, maxWaiting: 8)
        var refused = 0
        for number in 0..<20 {
            if let entry = table.resolve("silent-\(number)", app(1), mailbox, 0) {
                #expect(entry.answer == .unavailable("too many names wait to be looked up"))
                refused += 1
            }
        }
        #expect(refused == 16)
        #expect(table.resolve("good", app(2), mailbox, 0) == nil)
        #expect(table.end("silent-0", .failed("none"), 0).count == 1)
    }

    @Test("names that are used stay, whatever number of others comes and goes")
    func bounded() throws {
        var table = try known()
        for number in 0..<10_000 {
            let host = "host-\(number)"
            _ = table.resolve(host, app(1), mailbox, Int64(number))
            #expect(table.begin(Int64(number)) == [host])
            _ = table.end(host, .failed("none"), Int64(number))
            #expect(addresses(table.resolve("a", app(1), mailbox, Int64(number))) == [address])
        }
        #expect(table.resolve("host-1", app(1), mailbox, 10_000) == nil)
        #expect(table.resolve("host-9999", app(1), mailbox, 10_000) != nil)
    }

    @Test("IPv6 and IPv4 addresses take turns, beginning with the first")
    func interleaved() throws {
        let texts = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1"]
        let all = try texts.map { try #require(IPAddress($0)) }
        #expect(all.interleaved().map(\.description) == [texts[0], texts[3], texts[1], texts[2]])
        #expect([all[3], all[0]].interleaved() == [all[3], all[0]])
    }
}
