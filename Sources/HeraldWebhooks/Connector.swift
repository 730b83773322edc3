import CHeraldCurl
import Glibc
import HeraldRuntime

/// Opens the connections to hosts with several addresses, as RFC 8305 describes ("happy eyeballs"): a connection to the
/// next address is begun a quarter of a second after the last one, or as soon as that one has failed, and the first
/// that is established is used. libcurl, which is given a single address, then sends the request over it.
///
/// Owned by one sender and confined to its thread.
final class Connector {
    enum Result {
        case connected(Pin, socket: Int32)
        /// The address accepts connections; there is no socket.
        case reachable(Pin)
        case failed(CallbackFailureText)
        case timedOut
    }

    enum CallbackFailureText {
        case system(Int32)
        case refused(rule: String)
    }

    private final class Race {
        let transfer: Transfer
        let pins: [Pin]
        /// Nanoseconds of the monotonic clock, as the other times.
        let deadline: Int64
        /// Index of the address that is tried next.
        var next = 0
        var nextAt = Int64.min
        /// The connections that are being established, oldest first.
        var attempts: [(pin: Pin, socket: Int32)] = []
        var failure = CallbackFailureText.system(ECONNREFUSED)

        init(_ transfer: Transfer, _ pins: [Pin], _ deadline: Int64) {
            self.transfer = transfer
            self.pins = pins
            self.deadline = deadline
        }
    }

    /// RFC 8305, section 8: the recommended delay between attempts.
    private static let attemptDelay: Int64 = 250_000_000
    private static let maxAttemptsOfRace = 4
    private static let maxAttempts = 256

    private let epoll: Epoll
    private var races: [ObjectIdentifier: Race] = [:]
    private var bySocket: [Int32: Race] = [:]
    private var ended: [(transfer: Transfer, result: Result)] = []
    /// When `run` has something to do; `max` for never.
    private(set) var nextAt = Int64.max

    init() throws(SystemError) { epoll = try Epoll() }

    deinit {
        for socket in bySocket.keys { close(socket) }
        for (_, result) in ended { if case .connected(_, let socket) = result { close(socket) } }
    }

    /// Readable when `run` has something to do.
    var descriptor: Int32 { epoll.descriptor }

    /// Begins to connect.
    /// - Parameter pins: the addresses, in the order in which to try them.
    func start(_ transfer: Transfer, _ pins: [Pin], deadline: Int64, _ now: Int64) {
        let race = Race(transfer, pins, deadline)
        races[ObjectIdentifier(transfer)] = race
        tryNext(race, now)
        nextAt = ended.isEmpty ? min(nextAt, race.nextAt, race.deadline) : now
    }

    /// Ends the race of a transfer without a result.
    func cancel(_ transfer: Transfer) {
        ended.removeAll { entry in
            guard entry.transfer === transfer else { return false }
            if case .connected(_, let socket) = entry.result { close(socket) }
            return true
        }
        if let race = races[ObjectIdentifier(transfer)] { stop(race) }
    }

    /// Continues the races.
    /// - Returns: those that have ended.
    func run(_ now: Int64) -> [(transfer: Transfer, result: Result)] {
        var ready: [Int32] = []
        epoll.wait(milliseconds: 0) { socket, _ in ready.append(socket) }
        for socket in ready { if let race = bySocket[socket] { handle(socket, race, now) } }
        nextAt = .max
        for race in Array(races.values) {
            if race.deadline <= now {
                end(race, race.attempts.isEmpty ? .failed(race.failure) : .timedOut)
            } else if race.nextAt <= now {
                tryNext(race, now)
            }
        }
        for race in races.values { nextAt = min(nextAt, race.nextAt, race.deadline) }
        defer { ended = [] }
        return ended
    }

    // MARK: Attempts

    private func tryNext(_ race: Race, _ now: Int64) {
        while race.next < race.pins.count {
            if isFull(race) { drop(race.attempts.removeFirst().socket) }
            let pin = race.pins[race.next]
            race.next += 1
            if case .refused(let rule) = race.transfer.authorize(pin.address, pin.port) {
                race.failure = .refused(rule: rule)
                continue
            }
            let address = pin.address.bytes
            var code: Int32 = 0
            let socket = herald_connect(address, Int32(address.count), pin.port, &code)
            if socket < 0 {
                race.failure = .system(code)
                continue
            }
            if code == 0 {
                close(socket)
                return end(race, .reachable(pin))
            }
            do throws(SystemError) {
                try epoll.add(socket, .write)
            } catch {
                race.failure = .system(error.code)
                close(socket)
                continue
            }
            bySocket[socket] = race
            race.attempts.append((pin, socket))
            // When there are many, each gets more time, since another one replaces it.
            race.nextAt = now + (isFull(race) ? 4 : 1) * Self.attemptDelay
            return
        }
        race.nextAt = .max
        if race.attempts.isEmpty { end(race, .failed(race.failure)) }
    }

    private func isFull(_ race: Race) -> Bool {
        race.attempts.count >= Self.maxAttemptsOfRace || !race.attempts.isEmpty && bySocket.count >= Self.maxAttempts
    }

    private func handle(_ socket: Int32, _ race: Race, _ now: Int64) {
        let code = herald_connect_error(socket)
        // Not established yet.
        if code == ENOTCONN { return }
        guard let index = race.attempts.firstIndex(where: { $0.socket == socket }) else { return }
        let attempt = race.attempts.remove(at: index)
        if code == 0 {
            try? epoll.remove(socket)
            bySocket[socket] = nil
            return end(race, .connected(attempt.pin, socket: socket))
        }
        race.failure = .system(code)
        drop(socket)
        tryNext(race, now)
    }

    private func drop(_ socket: Int32) {
        bySocket[socket] = nil
        close(socket)
    }

    private func end(_ race: Race, _ result: Result) {
        stop(race)
        ended.append((race.transfer, result))
    }

    private func stop(_ race: Race) {
        for attempt in race.attempts { drop(attempt.socket) }
        race.attempts = []
        races[ObjectIdentifier(race.transfer)] = nil
    }
}

extension Array where Element == IPAddress {
    /// The addresses with the families in turn, beginning with that of the first one (RFC 8305, section 4).
    func interleaved() -> [IPAddress] {
        guard let first else { return [] }
        let own = filter { $0.family == first.family }
        let other = filter { $0.family != first.family }
        var result: [IPAddress] = []
        result.reserveCapacity(count)
        for index in 0..<Swift.max(own.count, other.count) {
            if index < own.count { result.append(own[index]) }
            if index < other.count { result.append(other[index]) }
        }
        return result
    }
}
