import HTTPServer
import Herald
import Synchronization

/// Streams end with what let them in: a key that is revoked, an app that is deleted. Any thread; the lock guards the list.
final class AdmittedStreams: Sendable {
    private struct Entry {
        let principal: Principal
        let output: ResponseStream
    }

    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    /// Ends those of the principals that are meant. They end soon after.
    func end(where isMeant: (Principal) -> Bool) {
        let meant = entries.withLock { $0.values.filter { isMeant($0.principal) } }
        for entry in meant { entry.output.loop.perform { entry.output.end() } }
    }

    fileprivate func add(_ output: ResponseStream, _ principal: Principal) {
        entries.withLock { $0[ObjectIdentifier(output)] = Entry(principal: principal, output: output) }
    }

    fileprivate func remove(_ output: ResponseStream) { entries.withLock { $0[ObjectIdentifier(output)] = nil } }
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
        access.streams.add(output, principal)
        inner.opened(output)
        // It may have ended since the request was admitted; from here on it is in the list.
        if !access.isStillThere(principal) { output.end() }
    }

    func drained(_ output: ResponseStream) { inner.drained(output) }

    func closed(_ output: ResponseStream) {
        access.streams.remove(output)
        inner.closed(output)
    }
}
