/// The limits of events that are published together: in one request of the HTTP API, or by one call in the process.
package struct PublicationLimits: Sendable {
    package static let maxEvents = 1_000
    /// JSON values in the data of all events.
    package static let maxValues = 200_000
    /// The bytes of all events: of the body of a request, or of the bodies of callbacks.
    package static let defaultBytes = 262_144
    /// The longest time for which an event may be scheduled: 366 days, in milliseconds.
    package static let maxDelay: Int64 = 366 * 86_400_000
    package static let delayWords = "must be at most 366 days ahead"
    /// The values of `maxBytes` that the operator may choose.
    package static let byteRange: ClosedRange<Int> = 1024...16_777_216

    package var maxBytes = PublicationLimits.defaultBytes

    package init() {}
}
