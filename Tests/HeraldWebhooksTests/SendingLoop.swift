import Glibc
import HeraldCrypto
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Synchronization

/// A delivery loop of a few lines: one thread that owns a sender, and an `async` way to use it.
final class SendingLoop: Sendable {
    private struct Inbox {
        var callbacks: [(Callback, CheckedContinuation<CallbackOutcome, Never>)] = []
        var isStopping = false
    }

    let sender: CurlSender
    private let resolver: Resolver
    /// Has the file with the trusted authority, which each connection reads.
    private let folder = TemporaryFolder()
    private let inbox = Mutex(Inbox())
    private let nextToken = Atomic(0)

    /// - Parameters:
    ///   - resolver: closed with the loop.
    ///   - authority: trusted instead of those of the system.
    init(
        _ addressGuard: AddressGuard = AddressGuard(allowLoopback: true), resolver: Resolver = Resolver(),
        clock: Clock = .system, trusting authority: CertificateAuthority? = nil,
        change: (inout CurlSender.Configuration) -> Void = { _ in }
    ) throws {
        var configuration = CurlSender.Configuration(version: "1.2.3", addressGuard: addressGuard)
        if let authority { configuration.certificateAuthorities = try folder.write(authority.pem, to: "ca.pem") }
        change(&configuration)
        sender = try CurlSender(configuration, resolver: resolver, clock: clock)
        self.resolver = resolver
        _ = try Thread(name: "loop") { [self] in run() }
    }

    func send(
        _ delegate: WebhookDelegate, _ event: Event = event(), attempt: Int = 1,
        purpose: Callback.Purpose = .delivery(isReplay: false), isFresh: Bool = false
    ) async -> CallbackOutcome {
        let token = nextToken.add(1, ordering: .relaxed).newValue
        let callback = Callback(
            token: token, delegate: delegate, event: event, attempt: attempt, purpose: purpose, isFresh: isFresh)
        return await withCheckedContinuation { continuation in
            inbox.withLock { $0.callbacks.append((callback, continuation)) }
            sender.wake()
        }
    }

    /// Closes the receivers, and then ends the loop and its lookups.
    func stop(closing receivers: Receiver...) {
        for receiver in receivers { receiver.close() }
        inbox.withLock { $0.isStopping = true }
        sender.wake()
        resolver.close()
    }

    private func run() {
        // It is not joined: that would block a test.
        pthread_detach(pthread_self())
        var open: [Int: CheckedContinuation<CallbackOutcome, Never>] = [:]
        while true {
            let (callbacks, isStopping) = inbox.withLock { inbox in
                defer { inbox.callbacks = [] }
                return (inbox.callbacks, inbox.isStopping)
            }
            for (callback, continuation) in callbacks {
                open[callback.token] = continuation
                sender.start(callback)
            }
            if isStopping { break }
            sender.poll(nanoseconds: nil) { token, outcome in
                open.removeValue(forKey: token)?.resume(returning: outcome)
            }
        }
        sender.close { token, outcome in open.removeValue(forKey: token)?.resume(returning: outcome) }
    }
}

/// A receiver with this script, and a loop that sends to it.
func connected(_ script: @escaping Receiver.Script = { _ in .status(200) }) throws -> (Receiver, SendingLoop) {
    (try Receiver(script: script), try SendingLoop())
}

let secretBytes = [UInt8](repeating: 7, count: 32)

/// A delegate at this address, with `secretBytes` as its secret.
func delegate(
    _ url: String, key: DelegateKey = 1,
    secrets: [DelegateSecret] = [DelegateSecret(SigningSecret(bytes: secretBytes))],
    timeout: Int = 20, headers: [KeyValue] = [], change: (inout WebhookSettings) -> Void = { _ in }
) -> WebhookDelegate {
    WebhookDelegate(key, url: url, secrets: secrets) { settings in
        settings.timeoutSeconds = timeout
        settings.headers = headers
        change(&settings)
    }
}

/// The entry of `webhook-signature` that a receiver with this secret expects.
func v1(_ secret: [UInt8], _ request: ReceivedRequest) throws -> String {
    let hmac = try HMAC(key: secret)
    hmac.update(signedContent(request))
    return "v1,\(Base64.encode(try hmac.finish()))"
}

/// `id.timestamp.body` of what arrived.
func signedContent(_ request: ReceivedRequest) -> [UInt8] {
    let id = request.header("webhook-id") ?? ""
    let timestamp = request.header("webhook-timestamp") ?? ""
    return Array("\(id).\(timestamp).".utf8) + request.body
}

func event(_ data: String = #"{"n": 1}"#, id: String = "evt_1") -> Event {
    Event(id: id, time: 0, data: data)
}

extension CallbackOutcome {
    var status: Int? {
        if case .answered(let status, _) = verdict { return status }
        return nil
    }

    var failure: CallbackFailure? {
        if case .failed(let failure, _) = verdict { return failure }
        return nil
    }

    var detail: String {
        if case .failed(_, let detail) = verdict { return detail }
        return ""
    }
}
