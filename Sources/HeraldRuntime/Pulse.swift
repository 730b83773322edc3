/// One thread that works in rounds, and a way to see that it still does.
package struct Pulse: Sendable {
    /// The name of the thread, as `top -H` shows it.
    package let thread: String
    /// Calls the closure once, on the thread, in its next round; never after the thread has ended. The closure must not wait.
    /// Any thread; returns at once.
    package let request: @Sendable (@escaping @Sendable () -> Void) -> Void

    package init(thread: String, request: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.thread = thread
        self.request = request
    }
}
