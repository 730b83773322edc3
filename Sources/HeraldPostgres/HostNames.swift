import Glibc
import HeraldRuntime
import Synchronization

/// Looks up the addresses of servers. libpq would do it, too, but without a deadline. Any thread.
final class HostNames: Sendable {
    /// Looks a name up; may take long.
    typealias Lookup = @Sendable (_ name: String) -> [String]

    /// Its end is signaled.
    private typealias Search = HeraldRuntime.Semaphore

    private struct State {
        /// The addresses of the last successful lookups.
        var known: [String: [String]] = [:]
        /// One for each name at a time: their threads end when the system's resolver gives up.
        var searches: [String: Search] = [:]
    }

    private let state = Mutex(State())
    private let lookUp: Lookup

    init(_ lookUp: @escaping Lookup = HostNames.system) { self.lookUp = lookUp }

    /// - Returns: numeric addresses, those of an earlier time if none are found in time.
    func addresses(of name: String, seconds: Double) throws(PostgresError) -> [String] {
        if let search = try? search(for: name), search.wait(milliseconds: Int32(seconds * 1_000)) {
            // Others may wait for the same.
            search.signal()
        }
        guard let found = state.withLock({ $0.known[name] }) else {
            throw .unavailable("no address was found for the server \(name)")
        }
        return found
    }

    private func search(for name: String) throws -> Search {
        let new = Search()
        let search = state.withLock { state in
            let search = state.searches[name] ?? new
            state.searches[name] = search
            return search
        }
        guard search === new else { return search }
        do {
            try start(search, for: name)
        } catch {
            state.withLock { $0.searches[name] = nil }
            throw error
        }
        return search
    }

    private func start(_ search: Search, for name: String) throws {
        try Thread(name: "store-names") { [self] in
            let found = lookUp(name)
            state.withLock { state in
                if !found.isEmpty { state.known[name] = found }
                state.searches[name] = nil
            }
            search.signal()
        }.detach()
    }

    /// The system's resolver.
    static let system: Lookup = { name in
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var found: [String] = []
        for entry in sequence(first: list, next: { $0?.pointee.ai_next }) {
            guard let entry else { break }
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let failed = getnameinfo(
                entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            if failed == 0 { found.append(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)) }
        }
        return found
    }
}
