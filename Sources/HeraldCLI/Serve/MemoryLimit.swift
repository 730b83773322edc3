import Glibc

/// The memory that the system grants to this process: the limit of its control group, or else a part of the machine's.
enum MemoryLimit {
    /// - Parameter root: where `proc` and `sys` are; another folder in tests.
    static func found(root: String = "", machine: Int = machineBytes) -> Int {
        if let limit = ofGroup(root: root, machine: machine) { return limit }
        // Others need some of the machine's, too.
        return machine / 4 * 3 / (1 << 20) * (1 << 20)
    }

    /// The limit of the control group; `nil` if it has none.
    static func ofGroup(root: String = "", machine: Int = machineBytes) -> Int? {
        let limit = groups(root).compactMap { group in
            lowest(in: root + group.mount, under: group.path, file: group.file) { Int($0.prefix { $0 != "\n" }) }
        }.min()
        // Version 1 states "no limit" as a huge number.
        return limit.flatMap { $0 < machine ? $0 : nil }
    }

    static var machineBytes: Int { max(0, sysconf(Int32(_SC_PHYS_PAGES))) * max(0, sysconf(Int32(_SC_PAGESIZE))) }

    /// The places where the control groups of the process may have a limit: of version 2, and of version 1.
    static func groups(_ root: String) -> [(mount: String, path: String, file: String)] {
        guard let text = contents(of: root + "/proc/self/cgroup") else { return [] }
        return text.split(separator: "\n").flatMap { line -> [(mount: String, path: String, file: String)] in
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { return [] }
            let path = String(fields[2])
            if fields[0] == "0", fields[1].isEmpty {
                // The second one where version 1 is mounted, too.
                return ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map { ($0, path, "memory.max") }
            }
            guard fields[1].split(separator: ",").contains("memory") else { return [] }
            return [("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes")]
        }
    }

    /// The lowest limit of a group and of those that it is in. In a container the path may be one outside of it, whose
    /// folders are missing: then the limit is that of the mounted folder.
    /// - Parameter number: the limit in the text of a file; `nil` if it has none.
    static func lowest(in mount: String, under path: String, file: String, _ number: (String) -> Int?) -> Int? {
        var names = path.split(separator: "/").map(String.init)
        var limits: [Int] = []
        while true {
            let folder = ([mount] + names).joined(separator: "/")
            if let limit = contents(of: "\(folder)/\(file)").flatMap(number) { limits.append(limit) }
            if names.popLast() == nil { return limits.min() }
        }
    }

    static func contents(of path: String) -> String? {
        (try? Input.file(path)).map { String(decoding: $0, as: UTF8.self) }
    }
}
