import Glibc
import HeraldHTTP
import HeraldJSON
import HeraldRuntime
import Synchronization

extension Command {
    static let work = Command(
        name: "work", summary: "pull the events of a delegate and run a program for each",
        details: """
            The program gets the event as JSON on stdin, and HERALD_EVENT_ID, HERALD_EVENT_TYPE, HERALD_EVENT_SUBJECT and
            HERALD_ATTEMPT. The exit code 0 acknowledges the event. After 75 (EX_TEMPFAIL) it is retried in a minute. After any
            other code it is retried by the schedule of the delegate, with the last line of stderr as the reason.

            Several workers may pull from one delegate. Leases are extended while programs run. If the server cannot be reached,
            the command waits and connects again. After TERM and Ctrl-C it waits for the running programs, acknowledges their
            events, and returns the others. A second signal ends it at once. The exit code is 130 after Ctrl-C, 0 after TERM.
            """,
        arguments: [Argument(name: "DELEGATE", help: "The delegate of kind pull: dlg_...")],
        flags: [
            Flag("exec", "COMMAND", "The command for each event; the shell runs it."),
            Flag("parallel", "NUMBER", "Programs at the same time, 1 to 256. Default: 1."),
            Flag("max", "NUMBER", "Events of one pull, 1 to 1000. Default: 10 for each program."),
            Flag("once", nil, "End when there is nothing to pull."),
        ] + Flags.connection,
        examples: [
            "herald work dlg_01M7YZ2J61B6WSJHG4TYRGWBTV --exec ./handle",
            "herald work dlg_01M7YZ2J61B6WSJHG4TYRGWBTV --exec 'jq .data >> orders.json' --once",
        ],
        action: .run { call throws(CommandError) in try Work(call).run() })
}

/// Pulls runs of events, has a program handle each event, and settles the runs. One thread, besides one for each program.
private final class Work {
    private let client: APIClient
    private let path: [String]
    private let command: String
    private let parallel: Int
    private let most: Int
    private let isOnce: Bool
    private let stop: StopFlag
    private let wakeup: Wakeup
    /// The results of programs that have ended, which wake the thread.
    private let ended: Mailbox<HandledEvent>
    /// The last message about a server that was not reached.
    private var lastTrouble = ""

    /// In seconds.
    private static let (wait, firstPause, longestPause) = (20, 1, 30)
    private static let (temporaryFailure, retryAfter): (Int32, Int) = (75, 60)
    /// The attempts to acknowledge after TERM.
    private static let lastTries = 4

    init(_ call: Invocation) throws(CommandError) {
        guard let command = call["exec"], !command.isEmpty else {
            throw CommandError("--exec is missing: the command for each event.")
        }
        self.command = command
        parallel = try call.number("parallel", 1...256) ?? 1
        most = try call.number("max", 1...1_000) ?? min(1_000, 10 * parallel)
        isOnce = call.has("once")
        // A parent may ignore it, and then the system does not keep the exit codes of the programs.
        signal(SIGCHLD, SIG_DFL)
        client = try APIClient(call)
        path = ["v1", "delegates", try ShortID.delegates.resolve(call.arguments[0], call)]
        do throws(SystemError) {
            wakeup = try Wakeup()
            ended = Mailbox(wakeup: wakeup)
            stop = try StopFlag()
        } catch {
            throw CommandError("\(error).", exitCode: ExitCode.software)
        }
    }

    func run() throws(CommandError) {
        var pause = Self.firstPause
        while !stop.isRequested {
            let run: JSONValue?
            var isEmpty = true
            switch try ask("pull", query: [("max", "\(most)"), ("wait", isOnce ? nil : "\(Self.wait)")]) {
            case .answer(let json):
                run = json["lease"]?.isNull == false ? json : nil
                isEmpty = json["more"]?.bool != true
                pause = Self.firstPause
                lastTrouble = ""
            case .refused(let problem) where problem.name == "delegate-paused":
                run = nil
                say(problem.detail ?? problem.title)
                if !isOnce { stop.pause(seconds: Self.longestPause) }
            case .refused(let problem): throw problem.error
            case .away(let words):
                if isOnce { throw CommandError(words, exitCode: ExitCode.unavailable) }
                say(words)
                stop.pause(seconds: pause)
                pause = min(2 * pause, Self.longestPause)
                continue
            }
            if let run { try handle(run) } else if isOnce, isEmpty { return }
        }
        stop.mayExit(true)
    }

    /// Prints a line, unless it repeats the one before.
    private func say(_ words: String) {
        if words != lastTrouble { Output.message(words.printable(keepsLines: true) + "\n") }
        lastTrouble = words
    }

    // MARK: Requests

    private enum Reply {
        case answer(JSONValue)
        case refused(Problem)
        /// The server was not reached, or is busy.
        case away(String)
    }

    private func ask(
        _ operation: String, query: [(String, String?)] = [], body: [UInt8]? = nil
    ) throws(CommandError) -> Reply {
        stop.mayExit(operation == "pull")
        defer { stop.mayExit(false) }
        do throws(CommandError) {
            let answer = try client.ask("POST", path + [operation], query: query, body: body)
            if (200..<300).contains(answer.status) { return .answer(try client.document(answer.body).root) }
            let problem = Problem(answer, to: client)
            return problem.isTemporary || answer.status >= 500 ? .away(problem.words) : .refused(problem)
        } catch {
            guard error.exitCode == ExitCode.unavailable else { throw error }
            return .away(error.description)
        }
    }

    // MARK: Events

    private func handle(_ run: JSONValue) throws(CommandError) {
        let lease = run.text("lease")
        let isStrict = run.text("ordering") == "strict"
        var waiting = run.list("events")[...]
        var handled: [HandledEvent] = []
        var running = 0
        // The clock of the server may be another one: only the length counts.
        let length = min(max(2, run["ack_seconds"]?.integer ?? 2), 86_400)
        var nextExtension = Clock.system.monotonic() + length * 500_000_000
        var isHeld = true
        while running > 0 || !waiting.isEmpty {
            let isBlocked = handled.contains { isStrict ? $0.status != 0 : !$0.isStarted }
            let mayStart = isHeld && !stop.isRequested && !isBlocked
            while mayStart, running < (isStrict ? 1 : parallel), let event = waiting.popFirst() {
                start(event)
                running += 1
            }
            if running == 0 { break }
            wakeup.wait(milliseconds: 500)
            let new = ended.takeAll()
            running -= new.count
            handled += new
            if isHeld, Clock.system.monotonic() >= nextExtension {
                let isExtended = try extend(lease)
                isHeld = isExtended ?? true
                // A server that restarts is tried again before the lease ends.
                nextExtension =
                    Clock.system.monotonic() + (isExtended == nil ? 1_000_000_000 : length * 500_000_000)
            }
        }
        // Other workers have its events.
        guard isHeld else { return }
        // No attempt is counted of an event whose program could not be started.
        let notStarted = handled.filter { !$0.isStarted }
        try settle(lease, handled.filter(\.isStarted), returned: notStarted.map(\.id) + waiting.map { $0.text("id") })
        guard let reason = notStarted.first?.reason else { return }
        if isOnce { throw CommandError("The command was not run: \(reason).", exitCode: ExitCode.software) }
        // The signal may have ended an earlier pause already.
        if stop.isRequested { return }
        say("The command was not run: \(reason). Waiting \(Self.longestPause) seconds.")
        stop.pause(seconds: Self.longestPause)
    }

    private func start(_ event: JSONValue) {
        let program = HandlerProgram(command, event)
        do throws(SystemError) {
            try Thread(name: "handler") { [ended] in ended.post(program.run()) }.detach()
        } catch {
            ended.post(program.failed("no thread for the program: \(error)"))
        }
    }

    /// - Returns: `false` if the lease has ended; `nil` if the server is away.
    private func extend(_ lease: String) throws(CommandError) -> Bool? {
        switch try ask("extend", body: JSONWriter.document { $0.member("lease", lease) }) {
        case .answer: return true
        case .refused(let problem):
            say(problem.detail ?? problem.title)
            return problem.name != "lease-ended"
        case .away: return nil
        }
    }

    private static func acknowledgement(
        _ lease: String, _ handled: [HandledEvent], _ returned: [String], hasReasons: Bool
    ) -> [UInt8] {
        JSONWriter.document { body in
            body.member("lease", lease)
            body.array("failed") { list in
                for event in handled where event.status != 0 {
                    list.object {
                        $0.member("id", event.id)
                        if event.status == temporaryFailure { $0.member("retry_after", retryAfter) }
                        if hasReasons { $0.member("reason", event.reason) }
                    }
                }
            }
            body.member("returned", returned)
        }
    }

    private func settle(_ lease: String, _ handled: [HandledEvent], returned: [String]) throws(CommandError) {
        var body = Self.acknowledgement(lease, handled, returned, hasReasons: true)
        var hasReasons = handled.contains { $0.status != 0 }
        var pause = Self.firstPause
        for attempt in 1... {
            switch try ask("ack", body: body) {
            case .answer: return
            // Without an acknowledgement, the events that are done would be handed out again.
            case .refused(let problem) where problem.status == 413 && hasReasons:
                hasReasons = false
                body = Self.acknowledgement(lease, handled, returned, hasReasons: false)
            // The server hands its events out again, also those that were handled.
            case .refused(let problem) where problem.name == "lease-ended": return say(problem.detail ?? problem.title)
            case .refused(let problem): throw problem.error
            case .away(let words):
                say(words)
                if stop.isRequested, attempt > Self.lastTries { return }
                stop.pause(seconds: pause)
                pause = Swift.min(2 * pause, Self.longestPause)
            }
        }
    }
}

/// Whether TERM or INT was received. A thread waits for them.
private final class StopFlag: Sendable {
    /// The exit code for the last signal; -1 before the first.
    private let code = Atomic<Int32>(-1)
    private let exits = Atomic(false)
    private let woken = HeraldRuntime.Semaphore()

    var isRequested: Bool { code.load(ordering: .sequentiallyConsistent) >= 0 }

    /// Must be created before other threads are started.
    init() throws(SystemError) {
        let signals = Signals()
        let thread = try Thread(name: "signals") { [self] in
            for count in 0... {
                let exitCode = signals.waitForStop() == "INT" ? ExitCode.interrupted : 0
                code.store(exitCode, ordering: .sequentiallyConsistent)
                woken.signal()
                // Nothing was handed out, or the user does not want to wait.
                if count > 0 || exits.load(ordering: .sequentiallyConsistent) {
                    // Not `exit`, which would unload libraries while other threads run.
                    _exit(exitCode)
                }
            }
        }
        thread.detach()
    }

    /// Whether the process may exit at once, because it has no events.
    func mayExit(_ value: Bool) {
        exits.store(value, ordering: .sequentiallyConsistent)
        if value, isRequested { _exit(code.load(ordering: .sequentiallyConsistent)) }
    }

    func pause(seconds: Int) {
        _ = woken.wait(milliseconds: Int32(seconds) * 1_000)
    }
}
