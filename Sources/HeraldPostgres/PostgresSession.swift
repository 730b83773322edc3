import CHeraldPostgres
import Glibc
import HeraldRuntime

/// A session on the server: the only type that uses libpq's connection. One thread at a time.
///
/// libpq never blocks here: the calling thread waits with `poll`, and each wait has a deadline. A session that has missed a
/// deadline, or has received what it can't understand, is closed.
final class PostgresSession {
    /// The notices of the server that matter.
    private final class Notices {
        var warning: String?
    }

    private let handle: OpaquePointer
    private let notices = Notices()
    private let clock: Clock
    /// The statements that this session has prepared.
    private var prepared: Set<String> = []
    private(set) var isOpen = true

    /// Connects to one server.
    /// - Parameters:
    ///   - settings: libpq's, later ones before earlier ones.
    ///   - seconds: for all of it but the resolution of the name.
    init(_ settings: [(name: String, value: String)], seconds: Double, _ clock: Clock = .system) throws(PostgresError) {
        let names = settings.map { strdup($0.name) } + [nil]
        let values = settings.map { strdup($0.value) } + [nil]
        defer { for text in names + values { free(text) } }
        let started = names.map { UnsafePointer($0) }.withUnsafeBufferPointer { names in
            values.map { UnsafePointer($0) }.withUnsafeBufferPointer { values in
                PQconnectStartParams(names.baseAddress, values.baseAddress, 1)
            }
        }
        guard let started else { throw .unavailable("no memory for a connection") }
        handle = started
        self.clock = clock
        PQsetNoticeReceiver(
            handle,
            { notices, result in
                guard let notices, let source = PQresultErrorField(result, PostgresSession.sourceFunction) else {
                    return
                }
                // Other warnings have the same SQLSTATE, and its text is translated.
                guard String(cString: source) == "SyncRepWaitForLSN", let text = PQresultErrorMessage(result) else {
                    return
                }
                // The session that has set it lives, since it calls this.
                Unmanaged<Notices>.fromOpaque(notices).takeUnretainedValue().warning = PostgresSession.line(text)
            }, Unmanaged.passUnretained(notices).toOpaque())
        do {
            try connect(by: deadline(seconds))
        } catch {
            if case .lost(let reason) = error { throw .unavailable(reason) }
            throw error
        }
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
            throw .unavailable("the connection can't be used without blocking")
        }
    }

    deinit { PQfinish(handle) }

    /// The number of the server's process, as the server (or a pooler in between) has told it at the start.
    var serverProcess: Int64 { Int64(PQbackendPID(handle)) }

    func close() {
        isOpen = false
        // Ends the session; `deinit` frees the rest.
        shutdown(PQsocket(handle), Int32(SHUT_RDWR))
    }

    /// Whether nothing is known against it: a server that has ended is noticed before anything is sent to it.
    var isAlive: Bool {
        // A connection whose end was read has no socket any more, and `poll` finds nothing there.
        guard isOpen, PQstatus(handle) == CONNECTION_OK else { return false }
        var wait = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
        // A server that ends a session first says why.
        while poll(&wait, 1, 0) > 0 {
            guard PQconsumeInput(handle) == 1, PQstatus(handle) == CONNECTION_OK else { return false }
        }
        return true
    }

    // MARK: Running

    /// Sent requests without a response.
    private struct Exchange {
        enum Expected {
            case preparation(String)
            case result(Int)
            case end
        }
        /// In the order in which it was sent.
        var expected: [Expected] = []
        var next = 0
        var unit = 0
        var results: [Rows] = []
        var failure: PostgresError?

        var isOver: Bool { next == expected.count }
    }

    /// How many requests are sent before their responses are read: what waits in memory is moved with each of them.
    private static let maxUnread = 256

    /// Runs requests in one message. All of a unit are one transaction, unless one was begun; units are independent of each other.
    /// - Returns: the rows of each request.
    /// - Throws: the first error. Units that are not refused were carried out nevertheless.
    @discardableResult
    func run(_ units: [[Request]], seconds: Double) throws(PostgresError) -> [Rows] {
        guard isOpen else { throw .unavailable("the session is closed") }
        notices.warning = nil
        let deadline = deadline(seconds)
        var exchange = Exchange()
        for unit in units {
            for request in unit {
                try send(request, &exchange)
                if exchange.results.count.isMultiple(of: Self.maxUnread) {
                    try receive(&exchange, by: deadline) { $0 }
                }
            }
            guard PQpipelineSync(handle) == 1 else { throw lost() }
            exchange.expected.append(.end)
        }
        try receive(&exchange, by: deadline) { _ in false }
        if let failure = exchange.failure { throw failure }
        return exchange.results
    }

    func run(_ request: Request, seconds: Double) throws(PostgresError) -> Rows {
        try run([[request]], seconds: seconds).first ?? Rows(nil)
    }

    /// The warning of the server that the last run has not waited for a standby: a commit whose wait was canceled ends with a
    /// warning, and not with an error. Other warnings, such as of a database that must be vacuumed, say nothing of a commit.
    var warning: String? { notices.warning }

    private func send(_ request: Request, _ exchange: inout Exchange) throws(PostgresError) {
        let (name, parameters) = (request.statement.name, request.parameters)
        if prepared.insert(name).inserted {
            guard PQsendPrepare(handle, name, request.statement.sql, 0, nil) == 1 else { throw lost() }
            exchange.expected.append(.preparation(name))
        }
        let count = parameters.places.count
        let isSent = parameters.bytes.withUnsafeBytes { bytes in
            // An empty value must have an address all the same: a null pointer is NULL.
            withUnsafePointer(to: 0 as CChar) { nothing in
                let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) ?? nothing
                let values = parameters.places.map { place in place.map { start + $0.lowerBound } }
                let lengths = parameters.places.map { Int32(clamping: $0?.count ?? 0) }
                let formats = [Int32](repeating: 1, count: count)
                return PQsendQueryPrepared(handle, name, Int32(count), values, lengths, formats, 1)
            }
        }
        guard isSent == 1 else { throw lost() }
        exchange.expected.append(.result(exchange.results.count))
        exchange.results.append(Rows(nil))
    }

    /// Sends what is left to send, and takes the responses.
    /// - Parameter mayEnd: whether that is enough, given that everything is sent, before all responses are there.
    private func receive(
        _ exchange: inout Exchange, by deadline: Int64, mayEnd: (_ isSent: Bool) -> Bool
    ) throws(PostgresError) {
        while true {
            let unsent = PQflush(handle)
            if unsent < 0 { throw lost() }
            try take(&exchange)
            if exchange.isOver || mayEnd(unsent == 0) { return }
            try wait(for: unsent == 1 ? POLLIN | POLLOUT : POLLIN, by: deadline)
            guard PQconsumeInput(handle) == 1 else { throw lost() }
        }
    }

    /// Takes the responses that are there.
    private func take(_ exchange: inout Exchange) throws(PostgresError) {
        while !exchange.isOver, PQisBusy(handle) == 0 {
            let expected = exchange.expected[exchange.next]
            guard let result = PQgetResult(handle) else {
                // The end of the results of one request.
                if case .end = expected { throw lost("a response is missing") }
                exchange.next += 1
                continue
            }
            let rows = Rows(result)
            switch (PQresultStatus(result), expected) {
            case (PGRES_PIPELINE_SYNC, .end):
                exchange.next += 1
                exchange.unit += 1
            case (PGRES_COMMAND_OK, .result(let index)), (PGRES_TUPLES_OK, .result(let index)):
                exchange.results[index] = rows
            case (PGRES_COMMAND_OK, .preparation): break
            case (PGRES_PIPELINE_ABORTED, .preparation(let name)): prepared.remove(name)
            case (PGRES_PIPELINE_ABORTED, .result): break
            case (PGRES_FATAL_ERROR, let place):
                if case .preparation(let name) = place { prepared.remove(name) }
                // After some errors the server ends the session.
                if PQstatus(handle) != CONNECTION_OK { throw lost(Self.message(result)) }
                let state = PQresultErrorField(result, Self.sqlState).map { String(cString: $0) } ?? ""
                let failure = PostgresError.refused(unit: exchange.unit, state: state, message: Self.message(result))
                exchange.failure = exchange.failure ?? failure
            default: throw lost("an unexpected response")
            }
        }
    }

    // MARK: Notifications

    /// For `poll`: readable when there may be notifications.
    var descriptor: Int32 { PQsocket(handle) }

    /// Takes the notifications that have come from other sessions. Does not wait.
    /// - Returns: what they say.
    func notifications() throws(PostgresError) -> [String] {
        guard isOpen else { throw .unavailable("the session is closed") }
        guard PQconsumeInput(handle) == 1 else { throw lost() }
        var found: [String] = []
        while let notification = PQnotifies(handle) {
            defer { PQfreemem(notification) }
            if notification.pointee.be_pid == PQbackendPID(handle) { continue }
            found.append(notification.pointee.extra.map { String(cString: $0) } ?? "")
        }
        return found
    }

    // MARK: Waiting

    private func connect(by deadline: Int64) throws(PostgresError) {
        var state = PGRES_POLLING_WRITING
        while true {
            switch state {
            case PGRES_POLLING_OK: return
            case PGRES_POLLING_READING: try wait(for: POLLIN, by: deadline)
            case PGRES_POLLING_WRITING where PQstatus(handle) != CONNECTION_BAD: try wait(for: POLLOUT, by: deadline)
            default: throw .unavailable(reason())
            }
            state = PQconnectPoll(handle)
        }
    }

    private func wait(for events: Int32, by deadline: Int64) throws(PostgresError) {
        var wait = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
        while true {
            let left = (deadline - clock.monotonic()) / 1_000_000
            if left <= 0 { throw lost("the server does not respond") }
            let ready = poll(&wait, 1, Int32(clamping: left))
            if ready > 0 { return }
            if ready < 0, errno != EINTR { throw lost(String(cString: strerror(errno))) }
        }
    }

    private func deadline(_ seconds: Double) -> Int64 { clock.monotonic() + Int64(seconds * 1e9) }

    private func lost(_ reason: String? = nil) -> PostgresError {
        let text = reason ?? self.reason()
        close()
        return .lost(text)
    }

    private func reason() -> String {
        let message: UnsafeMutablePointer<CChar>? = PQerrorMessage(handle)
        let text = message.map { Self.line(UnsafePointer($0)) } ?? ""
        return text.isEmpty ? "the connection was closed" : text
    }

    // MARK: Messages

    // Characters in libpq's header: PG_DIAG_SOURCE_FUNCTION, PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY.
    private static let sourceFunction = Int32(UInt8(ascii: "R"))
    private static let sqlState = Int32(UInt8(ascii: "C"))
    private static let primaryMessage = Int32(UInt8(ascii: "M"))

    private static func message(_ result: OpaquePointer) -> String {
        let text = PQresultErrorField(result, primaryMessage) ?? PQresultErrorMessage(result)
        return text.map { line(UnsafePointer($0)) } ?? "an error without a message"
    }

    /// libpq's messages may have several lines: one for each server, and indented ones with advice.
    private static func line(_ text: UnsafePointer<CChar>) -> String {
        String(cString: text).split(whereSeparator: \.isNewline).filter { $0.first?.isWhitespace == false }.joined(
            separator: "; ")
    }
}
