package import HeraldDelivery
package import HeraldModel

/// Whether events are sent to a webhook.
public enum WebhookStatus: String, Sendable, CaseIterable {
    /// Events are sent.
    case active
    /// Nothing is sent, by request; events are kept.
    case paused
    /// Its owner has not agreed to the callbacks yet. Nothing is sent; events are kept.
    case pendingVerification = "pending_verification"
    /// Its receiver fails: one event at a time is tried until one succeeds.
    case failing
    /// It failed for days, or its receiver requested it. Nothing is sent; events are kept within the retention.
    case disabled
    /// Its receiver responded with 410: its deliveries have ended, and events are not kept for it.
    case gone
}

extension WebhookDelegate {
    package func shownStatus(_ lane: LaneSnapshots.Entry?) -> WebhookStatus {
        switch status {
        case .active: isFailing(lane) ? .failing : .active
        case .paused: .paused
        case .pendingVerification: .pendingVerification
        case .disabled: .disabled
        case .gone: .gone
        }
    }

    /// The lane has the current value; after a restart the registration does.
    private func isFailing(_ lane: LaneSnapshots.Entry?) -> Bool {
        lane?.isFailing == true || state.failingSince != nil
    }

    /// The reason why it is not active.
    package func shownReason(_ lane: LaneSnapshots.Entry?) -> String? {
        switch shownStatus(lane) {
        case .active: nil
        case .paused: Reason.paused()
        case .pendingVerification: state.statusReason ?? Reason.unverified()
        case .failing: state.statusReason ?? Reason.failing()
        case .disabled: state.statusReason ?? Reason.disabled()
        case .gone: state.statusReason ?? Reason.gone()
        }
    }

    /// The secret that signs, and that the next rotation replaces.
    package var newestSecret: SigningSecret? { state.secrets.first?.secret }
}
