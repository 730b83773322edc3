import HeraldRuntime

/// The sentences that state why a delegate or a delivery is in its state. Each `{}` stands for a value.
///
/// The dashboard translates them: a test compares its table.
package enum Reason: String, CaseIterable {
    // MARK: The status of a delegate

    case paused = "paused by request; events are kept until it is resumed"
    case unverified = "its receiver has not shown yet that it wants the callbacks"
    case failing = "its receiver fails; one event at a time is tried until one succeeds"
    case disabled = "disabled; POST …/resume begins again where it stopped"
    case gone = "its receiver responded with 410; POST …/resume starts it again"
    case respondedGone = "the receiver responded with the status 410"
    case disabledByReceiver = "the receiver requested it by the header webhook-delivery: disable"
    /// The names of the settings.
    case unreadable = "stored values of it can't be read; set them again, then POST …/resume: {}"
    /// The seconds, and the last failure.
    case failedTooLong = "it failed for {} s (disable_after_seconds); the last time: {}"

    // MARK: Consent

    /// The cause.
    case verificationEnded = "the address was not verified: {}; resume it to try again"
    /// The cause.
    case notVerified = "the address was not verified: {}"
    case noPermission = "the response to OPTIONS has no WebHook-Allowed-Origin that is * or names this service"
    case noChallenge = "the body of the response does not contain the challenge"

    // MARK: An attempt

    /// The status code.
    case responded = "status {}"
    /// The class of the failure, and its detail in the words of a library.
    case failed = "{}: {}"

    // MARK: The state of a delivery

    /// The status of the delegate, and its reason.
    case delegateStopped = "the delegate is {}: {}"
    case delegateDeleted = "the delegate was deleted"
    case exhausted = "the retry schedule is used up"
    case exhaustedOrNotMade =
        "the retry schedule is used up, or the recipe makes no request of the event: see the last attempt"
    case unwanted = "the delegate was changed, and did not want the event any more when it was to be tried again"
    case damaged = "the event is damaged in the database"
    case addressGone = "the receiver responded with 410: the address no longer exists"
    case cancelled = "ended by request, the operator's or the receiver's"

    // MARK: Why a delegate does not get an event

    case onceResumed = "once it is resumed"
    case otherType = "none of its patterns matches the type"
    case otherSubject = "the event is about none of its subjects"
    case filtered = "it does not match the event"
    case otherApp = "the event belongs to another app"
    case erased = "the event has been erased"
    case otherAudience = "the event is addressed to another delegate"
    /// The values that the clause accepts, and the value in the event.
    case mismatch = "expected {}, found {}"
    case publishedBefore = "the event was published before it was registered"
    /// The status of the delegate.
    case nothingSent = "it is {}: nothing is sent"

    /// The sentence with a value for each `{}`.
    package func callAsFunction(_ values: String...) -> String {
        var parts = rawValue.pieces(around: "{}")[...]
        guard var text = parts.popFirst().map(String.init) else { return rawValue }
        for (value, part) in zip(values, parts) { text += value + part }
        return text
    }
}
