import CHeraldCurl
import HeraldRuntime

/// A libcurl multi handle: connections, and the transfers over them.
///
/// A sender has one for HTTP/1.1, where a connection carries one request at a time, and one for HTTP/2, where it
/// carries many. They do not share a handle, because libcurl records per host which version it speaks. Owned by one
/// sender and confined to its thread; libcurl holds its address.
final class Multi {
    enum Kind: Sendable {
        case http1, http2
    }

    let kind: Kind
    let handle: UnsafeMutableRawPointer
    private let descriptors: Descriptors
    /// When libcurl must be called, in nanoseconds of the monotonic clock; `max` for never.
    private(set) var timerAt = Int64.max
    private var isClosed = false
    /// The transfers that were taken last, kept to reuse the memory.
    private var ended: [(easy: UnsafeMutableRawPointer, code: Int32)] = []

    init(_ kind: Kind, _ descriptors: Descriptors) throws(CurlSenderError) {
        guard let handle = curl_multi_init() else { throw .library("curl_multi_init failed") }
        self.kind = kind
        self.handle = handle
        self.descriptors = descriptors
        let own = Unmanaged.passUnretained(self).toOpaque()
        guard herald_multi_configure(handle, onSocket, onTimer, own, kind == .http2 ? 1 : 0) == 1 else {
            throw .library("an option of the multi handle is missing")
        }
    }

    deinit { close() }

    /// Closes the connections. The transfers must have been removed before, and nothing may be called afterwards.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        curl_multi_cleanup(handle)
    }

    /// Calls libcurl if its timer has expired.
    func runTimer(_ now: Int64) {
        guard timerAt <= now else { return }
        timerAt = .max
        herald_multi_timeout(handle)
    }

    /// The transfers that have ended, with libcurl's results. All are taken before the first is removed, because each
    /// removal makes libcurl walk through all results that were not taken.
    func takeEnded() -> [(easy: UnsafeMutableRawPointer, code: Int32)] {
        ended.removeAll(keepingCapacity: true)
        var code: Int32 = 0
        while let easy = herald_multi_ended(handle, &code) { ended.append((easy, code)) }
        return ended
    }

    // MARK: Called by libcurl

    /// Sets the time until libcurl must be called, in milliseconds; -1 for never.
    func setTimer(milliseconds: Int) {
        timerAt =
            milliseconds < 0
            ? .max : milliseconds == 0 ? 0 : Clock.system.monotonic() + Int64(milliseconds) * 1_000_000
    }

    func want(_ descriptor: Int32, _ what: Int32) {
        descriptors.want(
            descriptor, read: what & CURL_POLL_IN != 0, write: what & CURL_POLL_OUT != 0,
            nothing: what == CURL_POLL_REMOVE, kind)
    }
}
