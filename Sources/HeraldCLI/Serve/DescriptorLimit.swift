import Glibc

/// How the available descriptors are shared, so that none of the three can use up what another one needs.
struct DescriptorLimit {
    let granted: Int
    let connections: Int
    let streams: Int
    /// Open callbacks of each delivery loop; each may leave an idle connection behind.
    let callbacks: Int

    /// Two descriptors for each open callback of ten loops, and the connections and streams.
    private static let wanted: rlim_t = 131_072
    /// Fewer are worth a line in the log.
    private static let few = 1024

    static let advice = "raise the limit: LimitNOFILE= of systemd, --ulimit nofile= of Docker, or ulimit -n"

    var isFew: Bool { granted < Self.few }

    /// Raises the soft limit to the hard limit.
    /// - Returns: what the system grants.
    @discardableResult
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return few }
        if limit.rlim_cur < wanted {
            var raised = limit
            raised.rlim_cur = min(wanted, limit.rlim_max)
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return Int(min(limit.rlim_cur, 1 << 20))
    }

    init(granted: Int, threads: Int, deliveryLoops: Int) {
        self.granted = granted
        // The database, the log, and the wakeups and sockets of the threads: 31 with two threads, 401 with 64.
        let usable = max(24, granted - 28 - 6 * threads)
        connections = min(10_000, usable / 3)
        streams = min(10_000, usable / 3)
        callbacks = min(4096, max(2, usable / 6 / deliveryLoops))
    }
}

extension Log {
    func reportLack(_ reason: String) {
        error(
            "deliveries wait: this machine lacks descriptors or memory",
            ["reason": reason, "to_do": "give the machine more memory, or " + DescriptorLimit.advice])
    }
}
