internal import Synchronization

/// Counters since the start, and current values.
package struct HTTPServerStatistics: Sendable, Hashable {
    package var openConnections = 0
    /// Streams. Their connections are counted among the others over TLS only.
    package var openStreams = 0
    /// Streams that were ended because their client did not read.
    package var cutStreams = 0
    /// Requests that wait for their response.
    package var waitingRequests = 0
    /// Responses by the first digit of their status, from 2 to 5.
    package var answers2xx = 0
    package var answers3xx = 0
    package var answers4xx = 0
    package var answers5xx = 0
    /// Connections closed because a request, the next request, or reading the response took too long; sooner when all
    /// places were taken.
    package var expiredConnections = 0
    /// Connections and requests refused because their address had too many connections or TLS handshakes.
    package var refusedByAddress = 0
    /// Connections closed in place of a temporary refusal, because the client accepts only an event stream.
    package var withheldResponses = 0
    /// When the certificate for new connections expires, in seconds since 1970 UTC; `nil` for plain HTTP.
    package var certificateExpiration: Int64?
}

/// The counters of one loop, written only by its thread, so that adding is a plain load and store.
final class LoopCounters: Sendable {
    let openConnections = Atomic(0)
    let waitingRequests = Atomic(0)
    let expiredConnections = Atomic(0)
    let withheldResponses = Atomic(0)
    private let answers2xx = Atomic(0)
    private let answers3xx = Atomic(0)
    private let answers4xx = Atomic(0)
    private let answers5xx = Atomic(0)

    func countAnswer(_ status: Int) {
        switch status / 100 {
        case 2: answers2xx.addFromOneThread(1)
        case 3: answers3xx.addFromOneThread(1)
        case 4: answers4xx.addFromOneThread(1)
        default: answers5xx.addFromOneThread(1)
        }
    }

    func add(to statistics: inout HTTPServerStatistics) {
        statistics.openConnections += openConnections.load(ordering: .relaxed)
        statistics.waitingRequests += waitingRequests.load(ordering: .relaxed)
        statistics.expiredConnections += expiredConnections.load(ordering: .relaxed)
        statistics.withheldResponses += withheldResponses.load(ordering: .relaxed)
        statistics.answers2xx += answers2xx.load(ordering: .relaxed)
        statistics.answers3xx += answers3xx.load(ordering: .relaxed)
        statistics.answers4xx += answers4xx.load(ordering: .relaxed)
        statistics.answers5xx += answers5xx.load(ordering: .relaxed)
    }
}

extension Atomic<Int> {
    @inline(__always)
    func addFromOneThread(_ amount: Int) {
        store(load(ordering: .relaxed) + amount, ordering: .relaxed)
    }
}
