/// How long the log is kept.
package struct Retention: Sendable {
    /// Milliseconds, ≥ 60,000; `nil` for no limit.
    package var events: Int64? = 7 * 86_400_000
    package var attempts: Int64? = 7 * 86_400_000
    /// The maximum size on disk of the events, with all else but attempts, in bytes; `nil` for no limit.
    package var bytes: Int64?
    /// The maximum size on disk of the attempts in bytes; `nil` for no limit.
    package var attemptBytes: Int64?
    package init() {}
}
