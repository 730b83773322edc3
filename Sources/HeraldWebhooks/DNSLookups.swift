import CHeraldCares
import Glibc
package import HeraldRuntime

/// Looks up names with c-ares, which sends all queries over a few sockets and does not block.
///
/// It reads `/etc/resolv.conf`, `/etc/hosts`, and the order of `files` and `dns` in `/etc/nsswitch.conf`. Other sources
/// of `nsswitch.conf` (`mdns`, `myhostname`, `resolve`, `wins` …) are not used. A query without a response
/// is repeated after 0.4 s. c-ares 1.18 does not repeat one over TCP, which follows a truncated response, and ends the
/// lookup then: such a lookup is made once more, with more time.
///
/// Each channel of c-ares is used for a short time only: a new one has new ports, which are harder to guess for a forger
/// of responses, and reads the configuration again.
package final class DNSLookups: NameLookups {
    fileprivate final class Channel {
        let handle: ares_channel
        let isPatient: Bool
        let configuration: [Int]
        /// Nanoseconds of the monotonic clock.
        let madeAt: Int64
        var lookups = 0
        var openCount = 0

        init?(isPatient: Bool, _ configuration: [Int], _ now: Int64) {
            guard isPrepared, let handle = isPatient ? herald_names_open(4600, 1) : herald_names_open(400, 4) else {
                return nil
            }
            self.handle = handle
            self.isPatient = isPatient
            self.configuration = configuration
            madeAt = now
        }

        deinit { ares_destroy(handle) }
    }

    fileprivate final class Results {
        var list: [(host: String, answer: Resolver.Answer)] = []
        /// The names whose lookups are made once more, with more time.
        var again: [String] = []
    }

    /// The argument of c-ares' callback, which releases it.
    fileprivate final class Lookup {
        private let host: String
        private let channel: Channel
        private let results: Results
        private let begunAt = Clock.system.monotonic()

        fileprivate init(_ host: String, _ channel: Channel, _ results: Results) {
            self.host = host
            self.channel = channel
            self.results = results
        }

        fileprivate func end(_ status: Int32, _ result: UnsafeMutablePointer<ares_addrinfo>?) {
            channel.openCount -= 1
            if herald_names_timed_out(status) != 0, !channel.isPatient,
                Clock.system.monotonic() - begunAt < DNSLookups.earlyTime
            {
                return results.again.append(host)
            }
            results.list.append((host, DNSLookups.answer(status, result)))
        }
    }

    private static let maxLookupsOfChannel = 256
    private static let channelLife: Int64 = 10_000_000_000
    /// Nanoseconds. The queries over UDP take longer: 6 s, and since c-ares 1.32, which measures name servers, at least 2 s.
    /// So a name without any response has one lookup.
    fileprivate static let earlyTime: Int64 = 1_900_000_000
    private static let isPrepared = ares_library_init(ARES_LIB_INIT_ALL) == 0

    private var current: Channel?
    private var patient: Channel?
    /// Channels that are replaced, and have open lookups.
    private var retired: [Channel] = []
    private let results = Results()
    private var entries: [pollfd] = []

    package init() {}

    deinit {
        // Ends the open lookups, which hold their channels.
        for channel in channels { ares_cancel(channel.handle) }
    }

    private var channels: [Channel] { retired + [current, patient].compactMap { $0 } }

    package func begin(_ host: String) {
        current = renewed(current, isPatient: false)
        begin(host, current)
    }

    private func begin(_ host: String, _ channel: Channel?) {
        guard let channel else {
            return results.list.append((host, .lacking(Self.lack() ?? "c-ares can't start")))
        }
        channel.lookups += 1
        channel.openCount += 1
        let lookup = Unmanaged.passRetained(Lookup(host, channel, results)).toOpaque()
        // It may call back at once.
        herald_names_look_up(channel.handle, host, onLookupEnd, lookup)
    }

    /// The channel for the next lookup.
    private func renewed(_ channel: Channel?, isPatient: Bool) -> Channel? {
        let now = Clock.system.monotonic()
        let configuration = Self.configuration()
        if let channel, channel.lookups < Self.maxLookupsOfChannel, now - channel.madeAt < Self.channelLife,
            channel.configuration == configuration
        {
            return channel
        }
        // Without a descriptor for `resolv.conf`, c-ares 1.18 would send the queries of the new channel to 127.0.0.1.
        guard Self.lack() == nil, let new = Channel(isPatient: isPatient, configuration, now) else { return channel }
        if let channel, channel.openCount > 0 { retired.append(channel) }
        return new
    }

    /// Changes with the file that names the name servers.
    private static func configuration() -> [Int] {
        var status = stat()
        guard stat("/etc/resolv.conf", &status) == 0 else { return [] }
        return [Int(status.st_dev), Int(status.st_ino), status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
    }

    package func wait(for wakeup: Wakeup, milliseconds: Int32) -> [(host: String, answer: Resolver.Answer)] {
        var owners: [Channel] = []
        var wait = results.list.isEmpty ? milliseconds : 0
        entries.removeAll(keepingCapacity: true)
        entries.append(pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0))
        for channel in channels where channel.openCount > 0 {
            withUnsafeTemporaryAllocation(of: pollfd.self, capacity: Int(HERALD_NAMES_SOCKETS)) { sockets in
                let count = Int(herald_names_sockets(channel.handle, sockets.baseAddress))
                entries += sockets[..<count]
                owners += repeatElement(channel, count: count)
            }
            let next = herald_names_wait(channel.handle)
            if next >= 0 { wait = wait < 0 ? next : min(wait, next) }
        }
        if poll(&entries, nfds_t(entries.count), wait) > 0 {
            if entries[0].revents != 0 { wakeup.clear() }
            for (index, channel) in owners.enumerated() where entries[index + 1].revents != 0 {
                herald_names_ready(channel.handle, &entries[index + 1])
            }
        }
        for channel in channels where channel.openCount > 0 { herald_names_expire(channel.handle) }
        retired.removeAll { $0.openCount == 0 }
        for host in results.again {
            patient = renewed(patient, isPatient: true)
            begin(host, patient)
        }
        results.again = []
        defer { results.list = [] }
        return results.list
    }

    /// Why this machine has no socket for a query; `nil` if it has one.
    private static func lack() -> String? {
        let code = herald_names_socket_error()
        return CurlResult.isLack(code) ? String(cString: strerror(code)) : nil
    }

    fileprivate static func answer(_ status: Int32, _ result: UnsafeMutablePointer<ares_addrinfo>?) -> Resolver.Answer {
        defer { if let result { ares_freeaddrinfo(result) } }
        let reason = String(cString: ares_strerror(status))
        switch herald_names_kind(status) {
        case 0: break
        case 1: return .failed(reason)
        case 3: return .lacking(reason)
        // c-ares has one status for name servers out of reach and for a socket that can't be made.
        default: return lack().map(Resolver.Answer.lacking) ?? .unavailable(reason)
        }
        guard let first = result?.pointee.nodes else { return .addresses([]) }
        // Skips unknown address families, which would be refused when the socket opens.
        let found = sequence(first: first) { $0.pointee.ai_next }
            .compactMap { $0.pointee.ai_addr.flatMap(IPAddress.init(socketAddress:)) }
        return .addresses(found.reduce(into: []) { if !$0.contains($1) { $0.append($1) } })
    }
}

/// Called by c-ares on the resolver's thread, once for each lookup.
private func onLookupEnd(
    _ lookup: UnsafeMutableRawPointer?, _ status: Int32, _ timeouts: Int32,
    _ result: UnsafeMutablePointer<ares_addrinfo>?
) {
    guard let lookup else { return }
    Unmanaged<DNSLookups.Lookup>.fromOpaque(lookup).takeRetainedValue().end(status, result)
}
