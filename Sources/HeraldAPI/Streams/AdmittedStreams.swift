import HeraldCore
import HeraldHTTP
import Synchronization

/// Streams end with what let them in: at once when a key is revoked, a session signed out of or an app deleted, and within
/// `interval` when a key, a session or a link expires. Any thread; the lock guards the list.
final class AdmittedStreams: Sendable {
    /// What is ended.
    protocol Output: AnyObject, Sendable {
        /// To which it belongs.
        var thread: any StreamThread { get }
        func end()
    }

    private struct Entry {
        let principal: Principal
        let output: any Output
    }

    private struct Entries {
        var byOutput: [ObjectIdentifier: Entry] = [:]
        var isWatched = false
    }

    /// Seconds between two looks for what has expired.
    static let interval = 5

    private let entries = Mutex(Entries())

    /// Ends those of the principals that are meant. They end soon after.
    func end(where isMeant: (Principal) -> Bool) {
        let meant = entries.withLock { $0.byOutput.values.filter { isMeant($0.principal) } }
        for entry in meant { entry.output.thread.perform { entry.output.end() } }
    }

    /// - Returns: whether nobody looks for what has expired yet: the caller does from now on.
    fileprivate func add(_ output: any Output, _ principal: Principal) -> Bool {
        entries.withLock { entries in
            entries.byOutput[ObjectIdentifier(output)] = Entry(principal: principal, output: output)
            defer { entries.isWatched = true }
            return !entries.isWatched
        }
    }

    fileprivate func remove(_ output: any Output) {
        entries.withLock { $0.byOutput[ObjectIdentifier(output)] = nil }
    }

    /// - Returns: whether there is still something to look after.
    fileprivate func keepWatch() -> Bool {
        entries.withLock { entries in
            entries.isWatched = !entries.byOutput.isEmpty
            return entries.isWatched
        }
    }
}

extension AccessControl {
    /// A stream begins. What let it in may have ended since its request was admitted; from here on that is noticed.
    /// The streams' thread.
    func admitted(_ output: any AdmittedStreams.Output, _ principal: Principal) {
        if streams.add(output, principal) { watch(on: output.thread) }
        if !isGood(principal) { output.end() }
    }

    func ended(_ output: any AdmittedStreams.Output) { streams.remove(output) }

    /// Looks every now and then, while there are streams, for those whose key, session or link has expired.
    private func watch(on thread: any StreamThread) {
        hub.after(seconds: AdmittedStreams.interval) { [self] in
            thread.perform { [self] in
                endExpired()
                if streams.keepWatch() { watch(on: thread) }
            }
        }
    }

    func endExpired() { streams.end { !isGood($0) } }
}

/// A stream that is noted from its beginning to its end. All calls pass through, on the streams' thread.
final class AdmittedStream: ResponseStreamDelegate {
    private let access: AccessControl
    private let principal: Principal
    private let inner: any ResponseStreamDelegate

    init(_ access: AccessControl, _ principal: Principal, _ inner: any ResponseStreamDelegate) {
        self.access = access
        self.principal = principal
        self.inner = inner
    }

    func opened(_ output: ResponseStream) {
        inner.opened(output)
        access.admitted(output, principal)
    }

    func drained(_ output: ResponseStream) { inner.drained(output) }

    func closed(_ output: ResponseStream) {
        access.ended(output)
        inner.closed(output)
    }
}

extension ResponseStream: AdmittedStreams.Output {
    var thread: any StreamThread { loop }
}
