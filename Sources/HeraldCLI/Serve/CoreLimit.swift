import Glibc

/// The number of cores that the system grants to this process. A thread for each core of the machine would divide the
/// memory of a small container among too many parts.
enum CoreLimit {
    /// - Parameter root: where `proc` and `sys` are; another folder in tests.
    static func found(root: String = "", machine: Int = sysconf(Int32(_SC_NPROCESSORS_ONLN))) -> Int {
        max(1, min(machine, allowed(root) ?? machine, ofGroup(root) ?? machine))
    }

    /// The cores that the process may run on.
    private static func allowed(_ root: String) -> Int? {
        let lines = MemoryLimit.contents(of: root + "/proc/self/status")?.split(separator: "\n")
        let mask = lines?.first { $0.hasPrefix("Cpus_allowed:") }?.drop { $0 != ":" }
        // Hexadecimal digits, in groups of eight.
        let count = mask?.compactMap(\.hexDigitValue).reduce(0) { $0 + $1.nonzeroBitCount } ?? 0
        return count > 0 ? count : nil
    }

    /// The processor time of the control group, in cores, rounded up. Version 2 alone: version 1 has it in two files.
    private static func ofGroup(_ root: String) -> Int? {
        MemoryLimit.groups(root).compactMap { group in
            MemoryLimit.lowest(in: root + group.mount, under: group.path, file: "cpu.max") { text in
                // Microseconds in each period, and the period: `50000 100000`; or `max 100000`.
                let numbers = text.split { $0 == " " || $0 == "\n" }.compactMap { Int($0) }
                return numbers.count == 2 && numbers[1] > 0 ? (numbers[0] - 1) / numbers[1] + 1 : nil
            }
        }.min()
    }
}
