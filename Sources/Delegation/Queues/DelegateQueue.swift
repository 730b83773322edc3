/// Where a delegate is called when that isn't the thread of the caller: one call after another, in the order they were made.
///
/// ```swift
/// DelegateQueue.main                              // the main actor
/// DelegateQueue.actor(player)                     // another actor
/// DelegateQueue { queue.async(execute: $0) }      // a dispatch queue
/// ```
/// What waits is kept in memory: like every queue, it grows as long as it is filled faster than it is emptied.
public struct DelegateQueue: Sendable {
    private let mailbox: CallQueue

    /// Calls go where the closure takes them.
    /// - Parameter submit: runs the job that it is given, once, anywhere and soon; it need not keep an order.
    public init(_ submit: @escaping @Sendable (_ job: @escaping @Sendable () -> Void) -> Void) {
        mailbox = CallQueue { mailbox in submit { mailbox.deliver() } }
    }

    /// The main actor, where user interfaces live.
    public static let main = DelegateQueue { job in Task { @MainActor in job() } }

    /// An actor. It isn't kept alive; what waits for it ends with it.
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
