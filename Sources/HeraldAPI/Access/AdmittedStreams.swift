import HeraldCore
import HeraldHTTP
import Synchronization

/// Ends streams with their authorization: at once when a key is revoked, a session is signed out of or an app is
/// deleted, and within `interval` when a key, a session or a link expires. Any thread; the lock guards the list.
final class AdmittedStreams: Sendable {
    /// A stream that can be ended.
    protocol Output: AnyObject, Sendable {
        /// The thread of the stream.
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

    /// Seconds between two checks for expiration, and for what was ended at another process.
    static let interval = 1

    private let entries = Mutex(Entries())

    /// Ends the streams of matching principals, soon after this call.
    func end(where isMeant: (Principal) -> Bool) {
        let meant = entries.withLock { $0.byOutput.values.filter { isMeant($0.principal) } }
        for entry in meant { entry.output.thread.perform { entry.output.end() } }
    }

    /// - Returns: whether the caller has to start the checks for expiration.
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

    /// - Returns: whether there are streams left to check.
    fileprivate func keepWatch() -> Bool {
        entries.withLock { entries in
            entries.isWatched = !entries.byOutput.isEmpty
            return entries.isWatched
        }
    }
}

extension AccessControl {
    /// A stream starts. Its authorization may have ended since its request; from here on that is noticed. The streams'
    /// thread.
    func admitted(_ output: any AdmittedStreams.Output, _ principal: Principal) {
        if streams.add(output, principal) { watch(on: output.thread) }
        if !isValid(principal) { output.end() }
    }

    func ended(_ output: any AdmittedStreams.Output) { streams.remove(output) }

    /// Checks periodically, while there are streams, for expired keys, sessions and links.
    private func watch(on thread: any StreamThread) {
        hub.after(milliseconds: AdmittedStreams.interval * 1000) { [self] in
            thread.perform { [self] in
                endExpired()
                if streams.keepWatch() { watch(on: thread) }
            }
        }
    }

    func endExpired() { streams.end { !isValid($0) } }
}

extension ResponseStream: AdmittedStreams.Output {
    var thread: any StreamThread { loop }
}
