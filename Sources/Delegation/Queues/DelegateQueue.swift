/// Where a delegate is called, if not on the thread of the caller: one call after another, in the order of the calls.
///
/// ```swift
/// DelegateQueue.main                              // the main actor
/// DelegateQueue.actor(player)                     // another actor
/// DelegateQueue { queue.async(execute: $0) }      // a dispatch queue
/// ```
/// Pending calls are kept in memory: like every queue, it grows while it is filled faster than it is emptied.
public struct DelegateQueue: Sendable {
    private let mailbox: CallQueue

    /// Calls run where the closure submits them.
    /// - Parameter submit: must run the given job once, soon, on any thread; it need not keep the order.
    public init(_ submit: @escaping @Sendable (_ job: @escaping @Sendable () -> Void) -> Void) {
        mailbox = CallQueue { mailbox in submit { mailbox.deliver() } }
    }

    /// The main actor, which user interfaces use.
    public static let main = DelegateQueue { job in Task { @MainActor in job() } }

    /// An actor. It is not kept alive; its pending calls end with it.
    public static func actor(_ actor: any Actor) -> DelegateQueue {
        DelegateQueue(
            mailbox: CallQueue { [weak actor] mailbox in
                guard let actor else { return mailbox.close() }
                Task { await mailbox.deliver(on: actor) }
            })
    }

    private init(mailbox: CallQueue) { self.mailbox = mailbox }

    func enqueue(_ call: @escaping @Sendable () -> Void) { mailbox.add(call) }
}
