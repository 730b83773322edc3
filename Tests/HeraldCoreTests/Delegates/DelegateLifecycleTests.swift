import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("The life cycle of a delegate")
struct DelegateLifecycleTests {
    private typealias Status = DelegateLifecycle.Status
    private typealias Cause = DelegateLifecycle.Cause
    private typealias Consequence = DelegateLifecycle.Consequence

    private static let url = "https://receiver.example/"
    private static let now: Int64 = 1_000_000

    private static func settings(_ change: (inout WebhookSettings) -> Void = { _ in }) -> WebhookSettings {
        .made(url, change)
    }

    /// One that has failed since 5, and has a reason unless it is sent to.
    private static func life(_ status: Status) -> DelegateLifecycle {
        DelegateLifecycle(
            status: status, reason: status == .active || status == .paused ? nil : "why", expiresAt: 2_000_000,
            failingSince: 5)
    }

    private static func after(
        _ cause: Cause, _ life: DelegateLifecycle, _ settings: WebhookSettings = settings(), now: Int64 = now
    ) -> (life: DelegateLifecycle, consequence: Consequence) {
        var life = life
        let consequence = life.apply(cause, settings: settings, now: now)
        return (life, consequence)
    }

    /// Where each status leads to: what the doc comments of the statuses say.
    private struct Step: Sendable {
        let cause: Cause
        var verification = WebhookSettings.Verification.none
        /// In the order of `Status.allCases`: active, paused, pendingVerification, disabled, gone.
        let leadsTo: [Status]
    }

    private static let steps: [Step] = [
        Step(cause: .paused, leadsTo: [.paused, .paused, .paused, .paused, .paused]),
        Step(cause: .resumed, leadsTo: [.active, .active, .active, .active, .active]),
        Step(
            cause: .resumed, verification: .challenge,
            leadsTo: [.active, .pendingVerification, .pendingVerification, .pendingVerification, .pendingVerification]),
        Step(cause: .leaseRenewed, leadsTo: Status.allCases),
        // Another URL, without and with a need for consent.
        Step(
            cause: .settingsChanged(from: settings { $0.url = "https://other.example/" }),
            leadsTo: [.active, .paused, .active, .disabled, .gone]),
        Step(
            cause: .settingsChanged(
                from: settings {
                    $0.url = "https://other.example/"
                    $0.verification = .challenge
                }), verification: .challenge,
            leadsTo: [.pendingVerification, .paused, .pendingVerification, .disabled, .gone]),
        // Another verification, and none any more.
        Step(
            cause: .settingsChanged(from: settings { $0.verification = .cloudevents }), verification: .challenge,
            leadsTo: [.pendingVerification, .paused, .pendingVerification, .disabled, .gone]),
        Step(
            cause: .settingsChanged(from: settings()), verification: .challenge,
            leadsTo: [.pendingVerification, .paused, .pendingVerification, .disabled, .gone]),
        Step(
            cause: .settingsChanged(from: settings { $0.verification = .challenge }),
            leadsTo: [.active, .paused, .active, .disabled, .gone]),
        // Settings that say nothing of where and how.
        Step(
            cause: .settingsChanged(
                from: settings {
                    $0.description = "other"
                    $0.verification = .challenge
                }), verification: .challenge, leadsTo: Status.allCases),
        Step(cause: .verified(url: url), leadsTo: [.active, .paused, .active, .disabled, .gone]),
        Step(cause: .verified(url: "https://old.example/"), leadsTo: Status.allCases),
        Step(cause: .notVerified(reason: "no"), leadsTo: Status.allCases),
        Step(cause: .failing(since: 7), leadsTo: Status.allCases),
        Step(cause: .recovered, leadsTo: Status.allCases),
        Step(
            cause: .disabled(reason: "days"), leadsTo: [.disabled, .paused, .pendingVerification, .disabled, .gone]),
        Step(cause: .gone, leadsTo: [.gone, .gone, .gone, .gone, .gone]),
        Step(cause: .leaseEnded, leadsTo: Status.allCases),
    ]

    @Test("each status has the documented transitions, and no others")
    func exits() {
        for step in Self.steps {
            let settings = Self.settings { $0.verification = step.verification }
            for (status, wanted) in zip(Status.allCases, step.leadsTo) {
                let after = Self.after(step.cause, Self.life(status), settings).life
                #expect(after.status == wanted, "\(status): \(step.cause)")
                // A reason belongs to the status that it was given for.
                if after.status != status, after.status != .disabled, after.status != .gone {
                    #expect(after.reason == nil, "\(status): \(step.cause)")
                }
            }
        }
    }

    @Test("with a verification a new delegate waits for consent; with a lease it expires")
    func registered() {
        let plain = DelegateLifecycle(registered: Self.settings(), now: Self.now)
        #expect(plain == DelegateLifecycle(status: .active))
        let careful = DelegateLifecycle(
            registered: Self.settings {
                $0.verification = .cloudevents
                $0.leaseSeconds = 60
            }, now: Self.now)
        #expect(careful == DelegateLifecycle(status: .pendingVerification, expiresAt: Self.now + 60_000))
    }

    @Test("each status that stops deliveries has a reason, which is removed with it")
    func reasons() {
        let active = DelegateLifecycle(status: .active)
        let disabled = Self.after(.disabled(reason: "days"), active).life
        #expect(disabled.reason == "days")
        #expect(Self.after(.disabled(reason: "again"), disabled).consequence == .nothing)
        #expect(Self.after(.resumed, disabled).life == active)
        let gone = Self.after(.gone, active).life
        #expect(gone.reason == "the receiver responded with the status 410")
        #expect(Self.after(.gone, gone).consequence == .nothing)
        #expect(Self.after(.paused, gone).life == DelegateLifecycle(status: .paused))
        let pending = DelegateLifecycle(status: .pendingVerification)
        let refused = Self.after(.notVerified(reason: "404"), pending)
        #expect(refused.life.reason == "404" && refused.consequence == .change)
        #expect(Self.after(.notVerified(reason: "404"), refused.life).consequence == .nothing)
        #expect(Self.after(.notVerified(reason: "404"), active).consequence == .nothing)
        #expect(Self.after(.verified(url: Self.url), refused.life).life == active)
        // To resume it is to ask again, and so is another URL.
        let settings = Self.settings { $0.verification = .challenge }
        #expect(Self.after(.resumed, refused.life, settings).life == pending)
        let elsewhere = Cause.settingsChanged(
            from: Self.settings {
                $0.url += "old"
                $0.verification = .challenge
            })
        #expect(Self.after(elsewhere, refused.life, settings).life == pending)
    }

    @Test("failing is an observation: it starts once, ends once, and does not change the version")
    func failing() {
        let active = DelegateLifecycle(status: .active)
        let failing = Self.after(.failing(since: 7), active)
        #expect(failing.life.failingSince == 7 && failing.consequence == .observe)
        #expect(Self.after(.failing(since: 8), failing.life).consequence == .nothing)
        let recovered = Self.after(.recovered, failing.life)
        #expect(recovered.life == active && recovered.consequence == .observe)
        #expect(Self.after(.recovered, active).consequence == .nothing)
        // An attempt that was open at the 410 may have failed since.
        let gone = Self.after(.gone, active).life
        #expect(Self.after(.failing(since: 7), gone).consequence == .nothing)
    }

    @Test("resuming, a new URL, and leaving disabled or gone reset the history of failing")
    func history() {
        for status in Status.allCases {
            #expect(Self.after(.resumed, Self.life(status)).life.failingSince == nil, "\(status)")
            let elsewhere = Cause.settingsChanged(from: Self.settings { $0.url += "old" })
            #expect(Self.after(elsewhere, Self.life(status)).life.failingSince == nil, "\(status)")
            let renamed = Cause.settingsChanged(from: Self.settings { $0.description = "old" })
            #expect(Self.after(renamed, Self.life(status)).life.failingSince == 5, "\(status)")
            let isForgotten = status == .disabled || status == .gone
            #expect(Self.after(.paused, Self.life(status)).life.failingSince == (isForgotten ? nil : 5), "\(status)")
        }
        #expect(Self.after(.disabled(reason: "days"), Self.life(.active)).life.failingSince == 5)
        #expect(Self.after(.gone, Self.life(.active)).life.failingSince == nil)
    }

    @Test("a lease restarts when it is renewed or changed, and its end removes the delegate in any status")
    func lease() {
        let leased = Self.settings { $0.leaseSeconds = 60 }
        for status in Status.allCases {
            let life = Self.life(status)
            #expect(Self.after(.leaseRenewed, life, leased).life.expiresAt == Self.now + 60_000)
            #expect(Self.after(.leaseRenewed, life).life.expiresAt == nil)
            let longer = Cause.settingsChanged(from: Self.settings { $0.leaseSeconds = 10 })
            #expect(Self.after(longer, life, leased).life.expiresAt == Self.now + 60_000)
            #expect(Self.after(.settingsChanged(from: leased), life).life.expiresAt == nil)
            #expect(Self.after(.settingsChanged(from: leased), life, leased).life.expiresAt == 2_000_000)
            #expect(Self.after(.leaseEnded, life, now: 1_999_999).consequence == .nothing)
            #expect(Self.after(.leaseEnded, life, now: 2_000_000).consequence == .expire)
        }
        #expect(Self.after(.leaseEnded, DelegateLifecycle(status: .active)).consequence == .nothing)
    }

    @Test("a delegate with a lease whose end could not be read gets a new one when it is resumed")
    func lostLease() {
        let leased = Self.settings { $0.leaseSeconds = 60 }
        let lost = DelegateLifecycle(status: .disabled, reason: Reason.unreadable("expires_at"))
        #expect(Self.after(.resumed, lost, leased).life.expiresAt == Self.now + 60_000)
        #expect(Self.after(.paused, lost, leased).life.expiresAt == Self.now + 60_000)
        #expect(Self.after(.resumed, lost).life.expiresAt == nil)
        #expect(Self.after(.resumed, Self.life(.disabled), leased).life.expiresAt == 2_000_000)
    }

    @Test("the lease of a delegate whose stored values are unreadable does not end before they are set again")
    func unreadable() {
        func state(_ reason: String) -> WebhookDelegate.State {
            WebhookDelegate.State(
                settings: Self.settings(), status: .disabled, statusReason: reason, secrets: [], expiresAt: 5)
        }
        var (lost, other) = (state(Reason.unreadable("secrets")), state("days"))
        #expect(lost.apply(.leaseEnded, now: 10) == .nothing)
        #expect(other.apply(.leaseEnded, now: 10) == .expire)
    }

    @Test("a change without effect does nothing; a change of the status or its reason changes the version")
    func consequences() {
        let active = DelegateLifecycle(status: .active)
        #expect(Self.after(.resumed, active).consequence == .nothing)
        #expect(Self.after(.leaseRenewed, active).consequence == .nothing)
        #expect(Self.after(.settingsChanged(from: Self.settings()), active).consequence == .nothing)
        let paused = Self.after(.paused, active)
        #expect(paused.consequence == .change)
        #expect(Self.after(.paused, paused.life).consequence == .nothing)
        #expect(Self.after(.verified(url: Self.url), Self.life(.pendingVerification)).consequence == .change)
        #expect(
            Self.after(.verified(url: "https://old.example/"), Self.life(.pendingVerification)).consequence == .nothing)
    }

    // MARK: With the rest of a delegate's state

    @Test("consent may include a rate, which applies unless the delegate's own is lower")
    func rate() {
        for (wanted, allowed, kept): (Double?, Int?, Double?) in [
            (nil, 30, 0.5), (2, 30, 0.5), (0.25, 30, 0.25), (3, nil, 3), (nil, nil, nil),
        ] {
            var state = WebhookDelegate.State(
                settings: Self.settings { $0.rateLimit = wanted }, status: .pendingVerification,
                secrets: [DelegateSecret(.test)])
            state.apply(.verified(url: Self.url, ratePerMinute: allowed), now: 0)
            #expect(state.settings.rateLimit == kept)
        }
        var late = WebhookDelegate.State(settings: Self.settings(), secrets: [DelegateSecret(.test)])
        late.apply(.verified(url: Self.url, ratePerMinute: 30), now: 0)
        #expect(late.settings.rateLimit == nil)
    }

    @Test("an expired secret is removed with the next change, but never the last one")
    func secrets() {
        var state = WebhookDelegate.State(settings: Self.settings(), secrets: [])
        let other = DelegateSecret(SigningSecret(bytes: Array(1...32)), expiresAt: 500)
        state.secrets = [DelegateSecret(.test), other]
        state.forgetExpiredSecrets(now: 499)
        #expect(state.secrets.count == 2)
        state.forgetExpiredSecrets(now: 500)
        #expect(state.secrets.map(\.secret) == [.test])
        state.secrets = [other]
        state.forgetExpiredSecrets(now: 900)
        #expect(state.secrets.count == 1)
    }

    @Test("a request without effect does not change the version, even if a secret has expired since")
    func unchanged() throws {
        let (world, key) = try World.registered()
        world.update(key) { state, now in
            let old = DelegateSecret(SigningSecret(bytes: Array(1...32)), expiresAt: now + 10_000)
            state.secrets.append(old)
        }
        world.advance(seconds: 20)
        world.update(key) { state, now in state.apply(.resumed, now: now) }
        #expect(world.delegate(key)?.version == 2)
        #expect(world.delegate(key)?.state.secrets.count == 2)
        world.update(key) { state, now in state.apply(.paused, now: now) }
        #expect(world.delegate(key)?.version == 3)
        #expect(world.delegate(key)?.state.secrets.count == 1)
    }

    @Test("a disabled delegate that gets another URL is sent nothing, not even a verification, until it is resumed")
    func disabledElsewhere() throws {
        let world = try World()
        world.answer = { callback in
            var outcome = CallbackOutcome(
                verdict: .answered(status: 200, retryAfter: nil), duration: 0, excerpt: callback.event.body)
            if callback.purpose != .test { outcome.control = .disable }
            return outcome
        }
        let key = world.register { $0.verification = .challenge }
        world.settle()
        #expect(world.status(key) == .active)
        world.publishAndSettle()
        #expect(world.status(key) == .disabled)
        let calls = world.callbacks.count
        world.update(key) { state, _ in state.settings.url += "new" }
        world.settle()
        #expect(world.status(key) == .disabled && world.callbacks.count == calls)
        world.resume(key)
        #expect(world.status(key) == .pendingVerification)
        world.settle()
        #expect(world.status(key) == .active)
    }
}
