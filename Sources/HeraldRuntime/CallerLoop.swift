/// The loop of a thread that makes requests of other threads, and runs what they post to it.
///
/// A request is completed and freed by the thread that has allocated it: the memory is in the caches of that thread.
package protocol CallerLoop: AnyObject, Sendable {
    /// Any thread; never blocks.
    /// - Parameter body: called once on the loop's thread, in the order of the calls, unless the loop has ended; must not wait.
    func post(_ body: @escaping @Sendable () -> Void)
}
