import Glibc
internal import HeraldRuntime

/// One thread and one epoll instance for everything that a receiver does.
///
/// `@unchecked Sendable`: all mutable state is used only by the loop's thread, except the mailbox, the wakeup and the
/// recording, which are for any thread.
final class ReceiverLoop: @unchecked Sendable {
    typealias Interest = Epoll.Interest

    /// Deferred work of timers and gates.
    enum Work: Sendable {
        /// The delay of a reply is over.
        case reply(connection: Int, stream: Int32)
        /// The pause before the next byte is over.
        case drop(connection: Int, stream: Int32)
        case acceptAgain
        case closeConnections(done: HeraldRuntime.Semaphore)
        /// Closes the listening socket and all connections.
        case refuse(done: HeraldRuntime.Semaphore)
        case listen(ReceiverSocket, done: HeraldRuntime.Semaphore)
        case stop
    }

    let configuration: Receiver.Configuration
    let script: Receiver.Script
    let recording: Recording
    let limits: ConversationLimits
    /// `nil` while connections are refused.
    var listener: ReceiverSocket?
    let tls: TLSContext?
    let clock: Clock
    let epoll: Epoll
    private let wakeup: Wakeup
    let mailbox: Mailbox<Work>

    private var timers = Timers()
    /// By descriptor.
    var connections: [Int32: SenderConnection] = [:]
    var byNumber: [Int: SenderConnection] = [:]
    /// The number of all connections so far.
    var count = 0
    var isAccepting = true
    private(set) var isStopping = false
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

    init(
        _ configuration: Receiver.Configuration, _ listener: ReceiverSocket, tls: TLSContext?, recording: Recording,
        clock: Clock, script: @escaping Receiver.Script
    ) throws(SystemError) {
        self.configuration = configuration
        self.listener = listener
        self.tls = tls
        self.recording = recording
        self.clock = clock
        self.script = script
        limits = ConversationLimits(bodyBytes: configuration.maxBodyBytes)
        epoll = try Epoll()
        wakeup = try Wakeup()
        mailbox = Mailbox(wakeup: wakeup)
        try epoll.add(listener.descriptor, .read)
        try epoll.add(wakeup.descriptor, .read)
    }

    deinit { buffer.deallocate() }

    /// The thread's body: returns after `stop`.
    func run() {
        // OpenSSL writes without MSG_NOSIGNAL: blocks SIGPIPE on this thread, so that a closed connection is an error.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        while !isStopping {
            epoll.wait(milliseconds: millisecondsToNextTimer) { descriptor, interest in
                switch descriptor {
                case listener?.descriptor: acceptAll()
                case wakeup.descriptor: wakeup.clear()
                default: if let connection = connections[descriptor] { ready(connection, interest) }
                }
            }
            for work in mailbox.takeAll() { perform(work) }
            let now = clock.monotonic()
            while let work = timers.popDue(at: now) { perform(work) }
        }
        listener = nil
        for connection in connections.values { close(connection, .close) }
    }

    private var millisecondsToNextTimer: Int32 {
        guard let due = timers.nextDue else { return -1 }
        return Int32(clamping: max(0, (due - clock.monotonic() + 999_999) / 1_000_000))
    }

    private func perform(_ work: Work) {
        switch work {
        case .reply(let number, let stream):
            guard let connection = byNumber[number], let reply = connection.held.removeValue(forKey: stream) else {
                return
            }
            perform(reply, on: stream, of: connection)
            advance(connection)
        case .drop(let number, let stream):
            guard let connection = byNumber[number] else { return }
            connection.conversation?.resume(stream)
            advance(connection)
        case .acceptAgain:
            resumeAccepting()
        case .closeConnections(let done):
            for connection in connections.values { close(connection, .close) }
            done.signal()
        case .refuse(let done):
            // Closing the descriptor removes it from epoll.
            listener = nil
            for connection in connections.values { close(connection, .reset) }
            done.signal()
        case .listen(let socket, let done):
            listener = socket
            isAccepting = true
            try? epoll.add(socket.descriptor, .read)
            done.signal()
        case .stop:
            isStopping = true
        }
    }

    func later(_ milliseconds: Int, _ work: Work) {
        timers.add(work, due: clock.monotonic() + Int64(milliseconds) * 1_000_000)
    }
}
