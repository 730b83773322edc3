import Glibc

/// Metrics of the process, with the standard names of Prometheus clients.
struct ProcessMetrics {
    /// Milliseconds since 1970 UTC.
    let startedAt: Int64

    func write(_ page: inout MetricsPage) {
        page.gauge(
            "process_start_time_seconds", "When the process started, in seconds since 1970.",
            .init(value: Double(startedAt) / 1000))
        if let usage = Self.usage() {
            page.counter(
                "process_cpu_seconds_total", "User and system time.", .init(value: usage.cpuSeconds))
            page.gauge("process_resident_memory_bytes", "Resident memory.", usage.residentBytes)
            page.gauge("process_virtual_memory_bytes", "Virtual memory.", usage.virtualBytes)
            page.gauge("process_threads", "Threads of the operating system.", usage.threads)
        }
        if let open = Self.openDescriptors() {
            page.gauge("process_open_fds", "Open file descriptors.", open)
        }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            page.gauge("process_max_fds", "File descriptors that may be open.", limit.rlim_cur)
        }
    }

    /// From `/proc/self/stat`; `nil` if it does not exist.
    private static func usage() -> (cpuSeconds: Double, threads: Int, virtualBytes: Int, residentBytes: Int)? {
        guard let file = fopen("/proc/self/stat", "r") else { return nil }
        defer { fclose(file) }
        var line: [CChar] = Array(repeating: 0, count: 1024)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // The second field, the name in parentheses, may contain anything.
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        /// By its number in proc(5).
        func field(_ number: Int) -> Int? { fields.count > number - 3 ? Int(fields[number - 3]) : nil }
        guard let user = field(14), let system = field(15), let threads = field(20), let virtual = field(23),
            let resident = field(24)
        else { return nil }
        return (
            cpuSeconds: Double(user + system) / Double(sysconf(Int32(_SC_CLK_TCK))), threads: threads,
            virtualBytes: virtual, residentBytes: resident * Int(getpagesize())
        )
    }

    private static func openDescriptors() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while let entry = readdir(folder) {
            if entry.pointee.d_name.0 != UInt8(ascii: ".") { count += 1 }
        }
        // One descriptor is the folder itself.
        return count - 1
    }
}
