import Testing

@testable import HeraldCore

@Suite("What follows from a change of a delegate")
struct FollowUpTests {
    private typealias State = WebhookDelegate.State

    private func state(_ status: WebhookDelegate.Status = .active, _ change: (inout WebhookSettings) -> Void = { _ in })
        -> State
    {
        State(
            settings: .made("https://receiver.example/", change), status: status,
            statusReason: status == .active ? nil : "why",
            secrets: [DelegateSecret(.test)], failingSince: 5)
    }

    private func changed(_ old: State, at now: Int64 = 1_000_000, _ change: (inout State) -> Void) -> State {
        var new = old
        change(&new)
        new.followUp(old, now: now)
        return new
    }

    @Test("another lease runs from now, none ends never")
    func lease() {
        let old = state { $0.leaseSeconds = 60 }
        #expect(changed(old) { $0.settings.leaseSeconds = 10 }.expiresAt == 1_010_000)
        #expect(changed(old) { $0.settings.leaseSeconds = nil }.expiresAt == nil)
        var running = old
        running.expiresAt = 7
        #expect(changed(running) { $0.settings.description = "x" }.expiresAt == 7)
    }

    @Test(
        "consent is needed for another address, another way to ask, and after whatever it was that stopped a delegate")
    func consent() {
        func after(_ status: WebhookDelegate.Status, _ change: (inout State) -> Void) -> WebhookDelegate.Status {
            changed(state(status) { $0.verification = .challenge }, change).status
        }
        let elsewhere: (inout State) -> Void = { $0.settings.url += "new" }
        let otherwise: (inout State) -> Void = { $0.settings.verification = .cloudevents }
        let resumed: (inout State) -> Void = { $0.status = .active }
        for change in [elsewhere, otherwise] {
            #expect(after(.active, change) == .pendingVerification)
            #expect(after(.disabled, change) == .pendingVerification)
            #expect(after(.paused, change) == .paused)
            #expect(after(.gone, change) == .gone)
        }
        for status in WebhookDelegate.Status.allCases where status != .active {
            #expect(after(status, resumed) == .pendingVerification)
        }
        #expect(after(.active) { $0.settings.description = "x" } == .active)
        #expect(after(.pendingVerification) { $0.settings.verification = .none } == .active)
    }

    @Test("without verification the address may change, and a resumed delegate is active")
    func noConsent() {
        #expect(changed(state()) { $0.settings.url += "new" }.status == .active)
        for status: WebhookDelegate.Status in [.paused, .disabled, .gone] {
            let resumed = changed(state(status)) { $0.status = .active }
            #expect(resumed.status == .active && resumed.statusReason == nil)
        }
    }

    @Test("another address, and the end of being disabled or gone, begin without a history of failing")
    func history() {
        #expect(changed(state()) { $0.settings.url += "new" }.failingSince == nil)
        #expect(changed(state(.disabled)) { $0.status = .active }.failingSince == nil)
        #expect(changed(state(.gone)) { $0.status = .active }.failingSince == nil)
        #expect(changed(state(.paused)) { $0.status = .active }.failingSince == 5)
        #expect(changed(state()) { $0.settings.description = "x" }.failingSince == 5)
    }

    @Test("a secret that signs no more is forgotten, but never the last one")
    func secrets() {
        var old = state()
        let other = SigningSecret(bytes: Array(1...32))
        old.secrets = [DelegateSecret(.test), DelegateSecret(other, expiresAt: 500)]
        #expect(changed(old, at: 499) { _ in }.secrets.count == 2)
        #expect(changed(old, at: 500) { _ in }.secrets.map(\.secret) == [.test])
        old.secrets = [DelegateSecret(other, expiresAt: 500)]
        #expect(changed(old, at: 900) { _ in }.secrets.count == 1)
    }
}
