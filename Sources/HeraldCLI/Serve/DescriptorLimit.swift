import Glibc

/// How the descriptors that the system grants are shared out.
struct DescriptorLimit {
    /// Connections from clients.
    let connections: Int
    /// Clients that listen to a live stream.
    let streams: Int
    /// Callbacks open at once; each may leave an idle connection behind.
    let callbacks: Int

    /// For the database, the log, the threads' own.
    private static let reserve = 64
    private static let wanted: rlim_t = 32_768

    /// Raises the soft limit as far as it goes.
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
