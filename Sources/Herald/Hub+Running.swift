public import HeraldCore
public import HeraldModel

extension Hub {
    /// Completes pending publications, gives open callbacks time to end, and closes the database. It must be the last
    /// call: from its start, publications are refused, and sequences of events end.
    ///
    /// Undelivered events are sent when the folder is opened again. Returns when the folder is free, also if another call
    /// had begun to stop the hub.
    /// - Parameter grace: how long to wait for open callbacks; those that are interrupted are made again later.
    public func stop(grace: Duration) async {
        beginToStop(grace: grace)
        await stopped()
    }

    /// Returns when the hub has stopped. If the task is cancelled, it stops the hub first.
    ///
    /// A service runs as long as this method: a group of services, such as `ServiceGroup` of Swift Service Lifecycle, can run
    /// a hub beside the HTTP server of the app, and stop it after that.
    /// - Parameter grace: for ``stop(grace:)``.
    public func run(grace: Duration) async {
        await withTaskCancellationHandler {
            await stopped()
        } onCancel: {
            beginToStop(grace: grace)
        }
    }

    /// Like ``run(grace:)``, with five seconds for open callbacks. It is the requirement of the protocol `Service` of Swift Service
    /// Lifecycle.
    public func run() async { await run(grace: .seconds(5)) }

    private func stopped() async {
        await withCheckedContinuation { continuation in whenStopped { continuation.resume() } }
    }

    private func beginToStop(grace: Duration) {
        // Ten years are without limit, and can be added to the time.
        let nanoseconds = min(max(0, grace.nanoseconds), 315_360_000_000_000_000)
        startThread("hub-stop") { [self] in stop(grace: nanoseconds) }
    }
}

/// Opens a hub, calls `body` with it, and stops it, whether `body` returns or throws.
///
/// ```swift
/// try await withHub(folder: "/var/lib/shop/events") { hub in
///     try await hub.publish("shop.opened", ["by": "Ada"])
/// }
/// ```
/// - Parameters:
///   - folder: the path of a folder on a local disk, whose parent exists. Only one hub can have it open.
///   - options: threads, limits, and the addresses that may be called.
///   - grace: how long to wait for open callbacks at the end.
///   - onDurabilityLost: as in `Hub.open`.
///   - actor: where `body` runs: on the actor of the caller.
///   - body: must not keep the hub.
/// - Returns: what `body` returns. The hub has stopped, and the folder is free.
/// - Throws: what `body` throws; `HubError` if the hub can't be opened.
@discardableResult
public func withHub<Result>(
    folder: String, options: Hub.Options = Hub.Options(), grace: Duration = .seconds(5),
    onDurabilityLost: (@Sendable (StoreError) -> Void)? = nil,
    isolation actor: isolated (any Actor)? = #isolation,
    _ body: (Hub) async throws -> Result
) async throws -> Result {
    let hub = try await Hub.open(folder: folder, options: options, onDurabilityLost: onDurabilityLost)
    do {
        let result = try await body(hub)
        await hub.stop(grace: grace)
        return result
    } catch {
        await hub.stop(grace: grace)
        throw error
    }
}

extension Duration {
    /// Clamped to 64 bits: 292 years.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, sumOverflow) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return sumOverflow ? (seconds < 0 ? .min : .max) : sum
    }
}
