import HeraldCrypto
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// The access token of a delegate with OAuth 2.0, by RFC 6749, 4.4: requested when a callback needs it, kept until it
/// expires or the receiver refuses it. At most one request is open, and all callbacks of the delegate wait for it.
///
/// Owned by one target and confined to its thread.
final class TokenSource {
    /// The authorization server: a target of its own, so that its address is checked like that of any receiver.
    let target: Target
    let callback: Callback
    /// Empty without a token.
    private(set) var text = ""
    /// When it was issued, and until when it is used: nanoseconds of the monotonic clock.
    private(set) var issuedAt = Int64.min
    private var expiresAt = Int64.min
    private var waiting: [WaitingCallback] = []
    var isRequested = false

    /// How long a token is used whose server does not say how long it is valid. One that is refused earlier is replaced.
    private static let usualSeconds: Double = 3_600
    private static let maxTokenBytes = 8_192

    init(_ client: RecipeAuth.OAuth2Client, _ target: Target) {
        self.target = target
        target.tokenRequest = Self.request(client, target.url)
        let event = Event(id: "token", type: "herald.token", subject: nil, time: 0, data: Array("null".utf8))
        callback = Callback(token: -1, delegate: target.delegate, event: event, attempt: 1, purpose: .token)
    }

    /// The delegate that stands for the authorization server.
    static func delegate(_ client: RecipeAuth.OAuth2Client, of delegate: WebhookDelegate) -> WebhookDelegate {
        var settings = WebhookSettings(url: client.tokenURL)
        settings.timeoutSeconds = delegate.settings.timeoutSeconds
        // Any other format would add its content type to that of the request.
        settings.format = .cloudeventsBinary
        return WebhookDelegate(
            app: delegate.app, key: delegate.key, id: delegate.id,
            state: .init(settings: settings, secrets: []), start: delegate.start, createdAt: delegate.createdAt,
            updatedAt: delegate.updatedAt, version: delegate.version)
    }

    private static func request(_ client: RecipeAuth.OAuth2Client, _ url: CallbackURL) -> RecipeRequest {
        var form = [(name: "grant_type", value: "client_credentials")]
        if let scope = client.scope { form.append(("scope", scope)) }
        if let audience = client.audience { form.append(("audience", audience)) }
        var lines = ["content-type: application/x-www-form-urlencoded", "accept: application/json"]
        if client.usesBasic {
            // Both are encoded as in a form first: RFC 6749, 2.3.1.
            let pair = "\(FormText.encoded(client.id)):\(FormText.encoded(client.secret))"
            lines.append("authorization: Basic \(Base64.encode(Array(pair.utf8)))")
        } else {
            form += [("client_id", client.id), ("client_secret", client.secret)]
        }
        return RecipeRequest(
            method: .post, url: url, parsedURL: nil, payload: Payload(Array(FormText.encoded(form).utf8)), lines: lines,
            hasStandardSignature: false)
    }

    // MARK: Tokens

    func isValid(_ now: Int64) -> Bool { expiresAt > now }

    /// The receiver has responded with 401: the next callback requests another token.
    /// - Parameters:
    ///   - issued: when the token of the callback was issued.
    ///   - start: when the callback began.
    /// - Returns: whether the token was older, so that another one may help.
    func refused(issued: Int64, before start: Int64) -> Bool {
        // Another callback may have replaced it since.
        if issued == issuedAt, issued <= start { expiresAt = .min }
        return issued < start
    }

    /// Takes the token from the response of the authorization server.
    /// - Returns: why there is none; `nil` if there is one.
    func take(_ verdict: CallbackOutcome.Verdict, body: [UInt8], _ now: Int64) -> String? {
        let status: Int
        switch verdict {
        case .answered(let code, _): status = code
        case .failed(_, let detail): return "\(target.url.host): \(detail)"
        }
        let document = try? JSONDocument(parsing: body)
        guard (200...299).contains(status) else {
            // RFC 6749, 5.2. The rest of the body may have what must not be shown.
            let error = document?["error"]?.string.map { ": \(Self.start(of: $0, 64))" } ?? ""
            return "\(target.url.host): status \(status)\(error)"
        }
        guard let token = document?["access_token"]?.string, (1...Self.maxTokenBytes).contains(token.utf8.count),
            token.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return "\(target.url.host): the response has no access_token that can stand in a header" }
        if let type = document?["token_type"]?.string, type.lowercased() != "bearer" {
            return "\(target.url.host): the token is of the type \(Self.start(of: type, 32)), not bearer"
        }
        let seconds = min(max(document?["expires_in"]?.double ?? Self.usualSeconds, 0), 86_400 * 365)
        // Some time before, since the request takes a while, and clocks differ.
        let margin = min(30, seconds / 10)
        text = token
        issuedAt = now
        expiresAt = now + Int64((seconds - margin) * 1_000_000_000)
        return nil
    }

    /// The first bytes of a text, which has only visible ASCII and spaces by RFC 6749. A single character of another text may
    /// have thousands of bytes.
    private static func start(of text: String, _ count: Int) -> String {
        String(decoding: text.utf8.prefix(count).filter { (0x20...0x7e).contains($0) }, as: UTF8.self)
    }

    // MARK: Callbacks that wait

    func wait(_ callback: WaitingCallback) { waiting.append(callback) }

    func takeWaiting(where isTaken: (WaitingCallback) -> Bool) -> [WaitingCallback] {
        let taken = waiting.filter(isTaken)
        waiting.removeAll(where: isTaken)
        return taken
    }
}

extension CurlSender {
    /// Lets a callback wait for a token, and requests one unless that has been done.
    func requestToken(for waiting: WaitingCallback, _ now: Int64) {
        guard let tokens = waiting.target.tokens else { return reach(waiting, now) }
        tokens.wait(waiting)
        guard !tokens.isRequested else { return }
        tokens.isRequested = true
        awaitingTokens.append(waiting.target)
        tokens.target.openCount += 1
        openCount += 1
        reach(WaitingCallback(callback: tokens.callback, target: tokens.target, startedAt: now), now)
    }

    /// Sends or ends the callbacks that waited for a token.
    /// - Parameter server: the target of the authorization server.
    func tokenEnded(
        _ server: Target, _ verdict: CallbackOutcome.Verdict, body: [UInt8], _ now: Int64
    ) {
        guard let target = server.tokenOwner, let tokens = target.tokens else { return }
        tokens.isRequested = false
        awaitingTokens.removeAll { $0 === target }
        let problem = tokens.take(verdict, body: body, now)
        for waiting in tokens.takeWaiting(where: { _ in true }) {
            if let problem {
                // Herald itself has no room, or stops: that is none of the attempts' failures.
                var failure = CallbackFailure.tokenNotIssued
                if case .failed(.stopped, _) = verdict { failure = .stopped }
                endOpen(waiting.callback, target, .failed(failure, detail: problem), startedAt: waiting.startedAt)
            } else {
                reach(waiting, now)
            }
        }
    }
}
