/// The loop of a thread that makes requests of others, and carries out what they hand back to it.
///
/// What a request holds was allocated by its thread, and refers to objects that the thread uses all the time. Another thread that
/// released it would take their memory out of the caches of this one.
package protocol CallerLoop: AnyObject, Sendable {
    /// Any thread; never blocks.
    /// - Parameter body: called once on the loop's thread, in the order of the calls, unless the loop has ended; must not wait.
    func post(_ body: @escaping @Sendable () -> Void)
}
