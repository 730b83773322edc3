import CHeraldMicrohttpd
import Glibc

/// Connections of trusted proxies that have not sent the header of the PROXY protocol yet. One thread's.
struct ProxyGreetings {
    enum Progress {
        case reads
        /// The address of the client, or of the proxy if it names none.
        case done(PeerAddress)
        case failed
    }

    private struct Greeting {
        let peer: PeerAddress
        let since: Int64
        var header = ProxyHeader()
    }

    private var greetings: [Int32: Greeting] = [:]

    var count: Int { greetings.count }
    var oldest: Int32? { greetings.min { $0.value.since < $1.value.since }?.key }

    func contains(_ descriptor: Int32) -> Bool { greetings[descriptor] != nil }

    mutating func add(_ descriptor: Int32, _ peer: PeerAddress, now: Int64) {
        greetings[descriptor] = Greeting(peer: peer, since: now)
    }

    /// Reads what has arrived of the header, and nothing behind it. After `done` and `failed` the descriptor is no longer
    /// among the greetings.
    mutating func read(_ descriptor: Int32) -> Progress {
        guard var greeting = greetings.removeValue(forKey: descriptor) else { return .failed }
        let progress = Self.read(descriptor, &greeting)
        if case .reads = progress { greetings[descriptor] = greeting }
        return progress
    }

    private static func read(_ descriptor: Int32, _ greeting: inout Greeting) -> Progress {
        while true {
            var buffer = [UInt8](repeating: 0, count: greeting.header.wanted)
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return .reads }
            guard count > 0 else { return .failed }
            switch greeting.header.add(buffer[..<count]) {
            case .incomplete: continue
            case .client(let client): return .done(client ?? greeting.peer)
            case .malformed: return .failed
            }
        }
    }

    /// Removes a connection, which the caller closes.
    mutating func remove(_ descriptor: Int32) { greetings[descriptor] = nil }

    /// The connections that were accepted until a time.
    func descriptors(until time: Int64) -> [Int32] { greetings.filter { $0.value.since <= time }.map(\.key) }
}
