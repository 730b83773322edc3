import Glibc

/// How the available descriptors are shared.
struct DescriptorLimit {
    /// Client connections.
    let connections: Int
    /// Live streams.
    let streams: Int
    /// Open callbacks; each may leave an idle connection behind.
    let callbacks: Int

    /// For the database, the log and the threads.
    private static let reserve = 64
    private static let wanted: rlim_t = 32_768

    /// Raises the soft limit to the hard limit.
    static func raise() -> DescriptorLimit {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return DescriptorLimit(granted: 1024)
        }
        if limit.rlim_cur < wanted {
            var raised = limit
            raised.rlim_cur = min(wanted, limit.rlim_max)
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return DescriptorLimit(granted: Int(min(limit.rlim_cur, 1 << 20)))
    }

    private init(granted: Int) {
        let usable = max(64, granted - Self.reserve)
        connections = min(10_000, usable / 3)
        streams = min(10_000, usable / 3)
        callbacks = min(4096, max(8, usable / 6))
    }
}
