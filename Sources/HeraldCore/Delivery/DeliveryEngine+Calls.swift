import HeraldJSON
import HeraldRuntime

/// Calls outside the lanes: somebody tries a delegate out, or its owner is asked for consent.
extension DeliveryEngine {
    /// Between two calls that ask for consent: the first pause, doubled up to the last; nanoseconds.
    private static let firstPause: Int64 = 5_000_000_000
    private static let longestPause: Int64 = 300_000_000_000
    /// Then somebody has to resume the delegate.
    private static let maxVerifications = 20

    /// - Parameter answer: called once; `nil`: the delegate is gone, or too much is open.
    func test(_ key: DelegateKey, _ answer: @escaping (CallbackOutcome?) -> Void) {
        guard let index = indices[key], let delegate = lanes[index]?.delegate, canCall else { return answer(nil) }
        var json = JSONWriter()
        json.object { $0.member("message", "This is a test: somebody asked Herald to call \(delegate.id).") }
        call(delegate, index, ServiceFamily.test, json.bytes, .test { answer($0) }, .test)
    }

    private var canCall: Bool { !isStopping && !slots.isFull }

    /// Asks the owner of an address whether they want the callbacks.
    func verify(_ index: Int) {
        guard let delegate = lanes[index]?.delegate, delegate.status == .pendingVerification else { return }
        guard canCall else { return verify(index, at: now + Self.pause) }
        lanes[index]?.verifyTimer = nil
        switch delegate.settings.verification {
        case .none: break
        case .challenge:
            var generator = SystemRandomNumberGenerator()
            let challenge = String(generator.next(), radix: 36) + String(generator.next(), radix: 36)
            var json = JSONWriter()
            json.object { $0.member("challenge", challenge) }
            call(
                delegate, index, ServiceFamily.verification, json.bytes,
                .verification(challenge: challenge, url: delegate.settings.url),
                .test)
        case .cloudevents:
            call(
                delegate, index, ServiceFamily.verification, Array("null".utf8),
                .verification(challenge: nil, url: delegate.settings.url), .handshake)
        }
    }

    private func verify(_ index: Int, at time: Int64) {
        guard let key = lanes[index]?.delegate.key else { return }
        lanes[index]?.verifyTimer = time
        timers.insert(.verify(key), due: time)
    }

    /// Whether its owner is to be asked now: it has come to need consent, for another address or in another way, or
    /// somebody has resumed it.
    func asksAnew(_ delegate: WebhookDelegate, _ old: WebhookDelegate) -> Bool {
        delegate.status == .pendingVerification
            && (old.status != .pendingVerification || old.settings.url != delegate.settings.url
                || old.settings.verification != delegate.settings.verification
                || old.state.statusReason != nil && delegate.state.statusReason == nil)
    }

    private func call(
        _ delegate: WebhookDelegate, _ index: Int, _ type: String, _ data: [UInt8], _ purpose: OpenCallback.Purpose,
        _ kind: Callback.Purpose
    ) {
        guard let share = lanes[index]?.share else { return }
        let event = Event(
            app: delegate.app, id: ports.makeID(), type: type, subject: nil, time: ports.clock.wall(), data: data)
        let token = open(
            OpenCallback(
                lane: index, share: share, delegate: delegate.key, sequence: 0, event: event, attempts: 0,
                purpose: purpose,
                isReplay: false, startedAt: event.time))
        ports.sender.start(Callback(token: token, delegate: delegate, event: event, attempt: 1, purpose: kind))
    }

    /// A call that asked for consent has ended.
    func verified(_ transfer: OpenCallback, _ challenge: String?, _ url: String, _ outcome: CallbackOutcome) {
        let index = transfer.lane
        guard let delegate = lanes[index]?.delegate, delegate.key == transfer.delegate,
            delegate.status == .pendingVerification, delegate.settings.url == url
        else { return }
        if case .failed(.stopped, _) = outcome.verdict, isStopping { return }
        guard let refusal = Self.refusal(challenge, outcome) else {
            let rate = outcome.permission?.rate
            return checkpoints.note(
                DeliveryNotice(transfer.delegate, .verified(url: url, ratePerMinute: rate)), now: now)
        }
        lanes[index]?.verifications += 1
        let tries = lanes[index]?.verifications ?? 0
        var reason = "the address was not verified: \(refusal)"
        if tries < Self.maxVerifications {
            let pause = min(Self.firstPause << min(tries - 1, 10), Self.longestPause)
            verify(index, at: now + pause)
        } else {
            reason += "; resume it to try again"
        }
        checkpoints.note(DeliveryNotice(transfer.delegate, .notVerified(reason: reason)), now: now)
    }

    /// Why an answer is no consent; `nil`: it is.
    static func refusal(_ challenge: String?, _ outcome: CallbackOutcome) -> String? {
        guard outcome.isSuccess else { return outcome.reason }
        guard let challenge else {
            return outcome.permission == nil
                ? "the answer to OPTIONS has no WebHook-Allowed-Origin that is * or names this service" : nil
        }
        // The body as it was sent, or nothing but the challenge.
        let answer = String(decoding: outcome.excerpt, as: UTF8.self)
        return answer.contains(challenge) ? nil : "the challenge did not come back in the answer's body"
    }

    // MARK: Who waits

    /// Nobody waits longer than this for the outcome of deliveries.
    func expire(_ watch: DeliveryWatch, at time: Int64) {
        if isStopping { return watch.expire() }
        timers.insert(.expire(watch), due: time)
    }
}
