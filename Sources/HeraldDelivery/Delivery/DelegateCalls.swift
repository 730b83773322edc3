import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Makes the calls outside the lanes: test calls, and requests for consent. Confined to one thread.
final class DelegateCalls: LoopPart {
    /// Pause between two requests for consent: starts at `firstPause` and doubles up to the longest; nanoseconds.
    private static let firstPause: Int64 = 5_000_000_000
    private static let longestPause: Int64 = 300_000_000_000
    /// Number of calls after which the delegate must be resumed by hand.
    private static let maxVerifications = 20

    /// The state of asking for consent.
    private struct Verification {
        /// When the next call is due, in monotonic nanoseconds; `nil` while a call is open.
        var due: Int64?
        /// Number of calls without success.
        var tries = 0
    }

    private let starter: AttemptStarter
    /// Makes a new event id.
    private let makeID: () -> String
    private var verifications: [DelegateKey: Verification] = [:]

    init(_ loop: LoopParts, starter: AttemptStarter, makeID: @escaping () -> String) {
        self.starter = starter
        self.makeID = makeID
        super.init(loop)
    }

    /// - Parameters:
    ///   - event: `nil` for one of the type `herald.test`.
    ///   - answer: called once; with `nil` if the delegate does not exist, too many requests are open, or Herald stops.
    func test(_ lane: Lane?, _ event: Event?, _ answer: @escaping (CallbackOutcome?) -> Void) {
        guard let lane, starter.mayCall(lane) else { return answer(nil) }
        if let event {
            guard starter.hasBytes(event) else { return answer(nil) }
            return open(lane, event, .test(answer), .test)
        }
        var json = JSONWriter()
        json.object { $0.member("message", "This is a test call, requested for \(lane.delegate.id).") }
        call(lane, ServiceFamily.test, json.bytes, .test(answer), .test)
    }

    private func call(
        _ lane: Lane, _ type: String, _ data: [UInt8], _ purpose: OpenCallback.Purpose, _ kind: Callback.Purpose
    ) {
        let event = Event(
            app: lane.delegate.app, id: makeID(), type: type, subject: nil, time: timers.exactWall, data: data)
        open(lane, event, purpose, kind)
    }

    private func open(_ lane: Lane, _ event: Event, _ purpose: OpenCallback.Purpose, _ kind: Callback.Purpose) {
        starter.open(
            .init(
                lane: lane, sequence: 0, event: event, attempts: 0, purpose: purpose, isReplay: false,
                startedAt: timers.exactWall), kind)
    }

    // MARK: Consent

    /// Called when a delegate was registered or changed.
    func changed(_ lane: Lane, from old: WebhookDelegate?) {
        guard lane.delegate.status == .pendingVerification else {
            verifications[lane.key] = nil
            return
        }
        if let old {
            guard Self.asksAnew(lane.delegate, old) else { return }
            verifications[lane.key]?.tries = 0
        }
        verify(lane)
    }

    /// Whether consent must be requested now: the delegate has begun to need it, for another address or in another way,
    /// or it was resumed.
    private static func asksAnew(_ delegate: WebhookDelegate, _ old: WebhookDelegate) -> Bool {
        old.status != .pendingVerification || old.settings.url != delegate.settings.url
            || old.settings.verification != delegate.settings.verification
            || old.state.statusReason != nil && delegate.state.statusReason == nil
    }

    func forget(_ key: DelegateKey) { verifications[key] = nil }

    /// Called when the timer of a verification fires. A timer of an earlier plan is ignored.
    func verifyIsDue(_ lane: Lane) {
        guard let due = verifications[lane.key]?.due, due <= timers.now else { return }
        verify(lane)
    }

    /// Requests consent to callbacks from the receiver at the delegate's URL.
    private func verify(_ lane: Lane) {
        let delegate = lane.delegate
        guard delegate.status == .pendingVerification else { return }
        guard starter.mayCall(lane) else { return verify(lane, at: timers.now + LoopTimers.pause) }
        verifications[lane.key, default: Verification()].due = nil
        switch delegate.settings.verification {
        case .none: break
        case .challenge:
            var generator = SystemRandomNumberGenerator()
            let challenge = String(generator.next(), radix: 36) + String(generator.next(), radix: 36)
            var json = JSONWriter()
            json.object { $0.member("challenge", challenge) }
            call(
                lane, ServiceFamily.verification, json.bytes,
                .verification(challenge: challenge, url: delegate.settings.url), .test)
        case .cloudevents:
            call(
                lane, ServiceFamily.verification, Array("null".utf8),
                .verification(challenge: nil, url: delegate.settings.url), .handshake)
        }
    }

    private func verify(_ lane: Lane, at time: Int64) {
        verifications[lane.key, default: Verification()].due = time
        timers.insert(.verify(lane.key), due: time)
    }

    /// Called when a request for consent has ended.
    func verified(_ lane: Lane, _ challenge: String?, _ url: String, _ outcome: CallbackOutcome) {
        guard !lane.isRemoved, lane.delegate.status == .pendingVerification, lane.delegate.settings.url == url
        else { return }
        if case .failed(.stopped, _) = outcome.verdict {
            // The receiver was not called: that is none of its refusals.
            if !starter.isStopping { verify(lane, at: timers.now + Self.firstPause) }
            return
        }
        guard let refusal = Self.refusal(challenge, outcome) else {
            return ledger.record(lane.key, .verified(url: url, ratePerMinute: outcome.permission?.rate))
        }
        let tries = (verifications[lane.key]?.tries ?? 0) + 1
        verifications[lane.key, default: Verification()].tries = tries
        var reason = Reason.notVerified
        if tries < Self.maxVerifications {
            let pause = min(Self.firstPause << min(tries - 1, 10), Self.longestPause)
            verify(lane, at: timers.now + pause)
        } else {
            reason = .verificationEnded
        }
        ledger.record(lane.key, .notVerified(reason: reason(refusal)))
    }

    /// Why a response is no consent; `nil` if it is.
    static func refusal(_ challenge: String?, _ outcome: CallbackOutcome) -> String? {
        guard outcome.isSuccess else { return outcome.reason }
        guard let challenge else {
            return outcome.permission == nil ? Reason.noPermission() : nil
        }
        // The response must repeat the body that was sent, or contain only the challenge.
        let answer = String(decoding: outcome.excerpt, as: UTF8.self)
        return answer.holds(challenge) ? nil : Reason.noChallenge()
    }
}
