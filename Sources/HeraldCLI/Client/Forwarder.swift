import HeraldCrypto
import HeraldJSON
import HeraldModel
import HeraldRuntime
import HeraldWebhooks

/// Sends events to one URL with the code that sends callbacks: one at a time, in order. Used by one thread.
final class Forwarder {
    struct Result {
        let event: Event
        let outcome: CallbackOutcome
        let attempts: Int
    }

    static let maxTries = 11
    /// The pause before the second attempt and the longest one, in nanoseconds: about 50 seconds in all.
    private static let firstPause: Int64 = 500_000_000
    private static let longestPause: Int64 = 8_000_000_000
    /// Long, because a developer may have stopped the receiver in a debugger.
    private static let timeoutSeconds = 60

    private let sender: CurlSender
    private let delegate: WebhookDelegate
    private let tally: ForwardingTally
    /// The secret, if it was created for this run and has to be shown.
    private let madeSecret: String?
    /// It was reported that the receiver does not respond.
    private var isDown = false

    init(_ call: Invocation, _ tally: ForwardingTally) throws(CommandError) {
        self.tally = tally
        let given: String? = if let text = call["secret"] { text } else { try DelegateField.secret(call) }
        let secret = try Self.secret(given)
        madeSecret = given == nil ? SecretText.print(secret) : nil
        var settings = WebhookSettings(url: try Self.url(call))
        settings.timeoutSeconds = Self.timeoutSeconds
        delegate = WebhookDelegate(
            app: .default, key: 1, id: "listen",
            state: .init(settings: settings, secrets: [DelegateSecret(SigningSecret(bytes: secret))]), start: 0,
            createdAt: 0, updatedAt: 0, version: 1)
        // The user may reach the same addresses without Herald.
        let everything = ["0.0.0.0/0", "::/0"].compactMap { try? NetworkRule(parsing: $0) }
        var sending = CurlSender.Configuration(
            version: heraldVersion, addressGuard: AddressGuard(allow: everything))
        sending.capacity = 1
        sending.certificateAuthorities =
            call["certificate-authorities"] ?? Environment.current["HERALD_CERTIFICATE_AUTHORITIES"]
        do throws(CurlSenderError) {
            sender = try CurlSender(sending, resolver: Resolver())
        } catch {
            throw CommandError("Nothing can be forwarded: \(error).", exitCode: ExitCode.software)
        }
    }

    private static func url(_ call: Invocation) throws(CommandError) -> String {
        let given = call["forward-to"] ?? ""
        // A query may contain another URL.
        let hasScheme = given.prefix { $0 != "?" }.holds("://")
        do throws(CallbackURLError) {
            return try CallbackURL(hasScheme ? given : "http://" + given).text
        } catch {
            throw CommandError("--forward-to is \"\(given)\": that URL \(error).")
        }
    }

    private static func secret(_ given: String?) throws(CommandError) -> [UInt8] {
        do {
            guard let given else { return try SecretText.newSecret() }
            return try SecretText.parse(given)
        } catch let error as KeyTextError {
            throw CommandError("The secret \(error).")
        } catch {
            throw CommandError("The secret can't be created: \(error).", exitCode: ExitCode.software)
        }
    }

    /// Prints where events are sent, and how they are signed.
    func introduce() {
        Output.message("Forwarding to \(delegate.settings.url).\n")
        if let madeSecret {
            Output.message("Signed with \(madeSecret) (this run only)\n")
        }
    }

    /// Sends an event until there is a response, or the attempts are exhausted.
    func forward(_ json: JSONValue) throws(CommandError) -> Result {
        let event = Event(json)
        var pause = Self.firstPause
        var attempt = 1
        while true {
            let outcome = send(event, attempt: attempt)
            if outcome.isUnanswered && attempt < Self.maxTries {
                sayThatItIsDown(outcome)
                attempt += 1
                wait(pause)
                pause = min(2 * pause, Self.longestPause)
            } else {
                isDown = isDown && outcome.isUnanswered
                tally.count(event.id, isSuccess: outcome.isSuccess)
                return Result(event: event, outcome: outcome, attempts: attempt)
            }
        }
    }

    private func send(_ event: Event, attempt: Int) -> CallbackOutcome {
        var result: CallbackOutcome?
        sender.start(Callback(token: 1, delegate: delegate, event: event, attempt: attempt))
        while true {
            sender.poll(nanoseconds: nil) { result = $1 }
            if let result { return result }
        }
    }

    private func wait(_ nanoseconds: Int64) {
        let end = Clock.system.monotonic() + nanoseconds
        while true {
            let left = end - Clock.system.monotonic()
            if left <= 0 { return }
            sender.poll(nanoseconds: left) { _, _ in }
        }
    }

    private func sayThatItIsDown(_ outcome: CallbackOutcome) {
        guard !isDown, case .failed(_, let detail) = outcome.verdict else { return }
        isDown = true
        let text = "\(delegate.settings.url) does not respond; retrying, later events wait.\n  \(detail)\n"
        Output.message(text.printable(keepsLines: true))
    }
}

extension CallbackOutcome {
    /// Without a connection, the request can be repeated safely. A receiver that accepted the request and did not
    /// respond would probably get it twice.
    fileprivate var isUnanswered: Bool {
        guard case .failed(let failure, _) = verdict else { return false }
        return [.connect, .protocolError, .nameResolution].contains(failure)
    }
}

extension Event {
    /// An event as in the API.
    fileprivate convenience init(_ json: JSONValue) {
        self.init(
            id: json.text("id"), type: json.text("type"), subject: json["subject"]?.string,
            time: json["time"]?.timestamp?.milliseconds ?? 0,
            attributes: json["attributes"].map(Event.attributes(shown:)) ?? [],
            data: json["data"].map { Array($0.bytes) } ?? Array("null".utf8))
    }
}
