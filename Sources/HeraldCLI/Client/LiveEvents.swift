import Glibc
import HeraldHTTP
import HeraldJSON

/// The events of a server as they are posted, or its attempts as they end, across lost connections: each once, in their
/// order. Used by one thread.
struct LiveEvents {
    enum Log: String {
        case events, attempts
    }

    private let client: APIClient
    private let log: Log
    private let filters: [(String, String?)]
    /// The last handled event, or where to start; `nil` for events from now on.
    private var place: String?
    private var state = State.first
    private var pause = Self.firstPause

    private enum State {
        /// Not connected yet: errors are fatal.
        case first
        case listening
        /// The loss was reported; the next connection is reported, too.
        case lost
    }

    /// Pauses between two attempts to connect, in seconds: the first one, doubled each time, and the longest.
    private static let firstPause: UInt32 = 1
    private static let longestPause: UInt32 = 10

    /// - Parameters:
    ///   - filters: as in the query of the API.
    ///   - after: an event's id, a time, or `earliest`.
    init(_ client: APIClient, _ log: Log = .events, filters: [(String, String?)], after start: String?) {
        self.client = client
        self.log = log
        self.filters = filters
        place = start
    }

    /// Calls `each` for each event, until the output is closed. While it runs, the server waits.
    /// - Throws: errors of `each`; an error if the server refuses or was never reached.
    mutating func run(_ each: (JSONValue) throws(CommandError) -> Void) throws(CommandError) {
        do throws(CommandError) {
            try listenAgain(each)
        } catch {
            // A closed output is a normal end.
            if !Output.isClosed { throw error }
        }
    }

    private mutating func listenAgain(_ each: (JSONValue) throws(CommandError) -> Void) throws(CommandError) {
        while let problem = try listen(each) {
            if state == .listening {
                let what = problem.hasSuffix(".") ? problem : problem + "."
                Output.message("\(what) Retrying until it responds.\n".printable(keepsLines: true))
                state = .lost
                pause = Self.firstPause
            }
            sleep(pause)
            pause = min(2 * pause, Self.longestPause)
        }
    }

    /// One connection.
    /// - Returns: why it ended; `nil` if the output was closed.
    private mutating func listen(_ each: (JSONValue) throws(CommandError) -> Void) throws(CommandError) -> String? {
        let client = client
        var reader = ServerSentEvents()
        var failure: CommandError?
        var isUnread = false
        let answer: HTTPResponse
        do throws(HTTPClientError) {
            answer = try client.stream(
                ["v1", log.rawValue, "stream"], query: filters + [("last_event_id", place)],
                shouldContinue: {
                    isUnread = Output.isClosed
                    return !isUnread
                },
                take: { bytes in
                    do throws(CommandError) {
                        try take(bytes, &reader, each)
                    } catch {
                        failure = error
                    }
                    return failure == nil
                })
        } catch {
            let problem = client.unreachable(error)
            if state == .first { throw problem }
            return problem.description
        }
        if let failure { throw failure }
        if isUnread { return nil }
        guard (200..<300).contains(answer.status) else {
            let problem = Problem(answer, to: client)
            guard state != .first, problem.isTemporary || answer.status >= 500 else { throw problem.error }
            return problem.words
        }
        if state == .first { throw client.notHerald("its response is not a stream of \(log)") }
        return "\(client.server) ended the stream."
    }

    private mutating func take(
        _ bytes: UnsafeRawBufferPointer, _ reader: inout ServerSentEvents,
        _ each: (JSONValue) throws(CommandError) -> Void
    ) throws(CommandError) {
        var messages: [ServerSentEvents.Message] = []
        var isTooLong = false
        do throws(ServerSentEvents.Failure) {
            try reader.take(bytes, into: &messages)
        } catch {
            isTooLong = true
        }
        for message in messages { try handle(message, each) }
        if isTooLong { throw client.notHerald("it sent a message that is longer than any event") }
    }

    private mutating func handle(
        _ message: ServerSentEvents.Message, _ each: (JSONValue) throws(CommandError) -> Void
    ) throws(CommandError) {
        let json = try client.document(message.data).root
        switch message.event {
        case nil: try each(json)
        case "ready": announceListening()
        case "reset":
            announceListening()
            let (what, one) = log == .events ? ("Events", "the event") : ("Attempts", "the attempt")
            let list = log == .events ? "; `herald events list` lists those that are left" : ""
            // Within a stream, it has no position.
            let cause: String =
                message.id == nil
                ? "The next ones were removed before they could be sent. The oldest that is left follows."
                : "The log does not have \((place ?? one).printable()): it never was there, or is too old. "
                    + "New \(log.rawValue) follow\(list)."
            Output.message("\(what) may be missing. \(cause)\n")
        default: break
        }
        place = message.id ?? place
    }

    private mutating func announceListening() {
        switch state {
        case .first: Output.message("Listening to \(client.server). Ctrl-C ends it.\n")
        case .lost: Output.message("Connected again.\n")
        case .listening: break
        }
        state = .listening
    }
}
