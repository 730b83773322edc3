internal import CHeraldLinux
import Glibc

/// What the process has in its memory: keys, secrets, the environment that they came in.
public enum ProcessMemory {
    /// Keeps it to the process: no core file, and no other process of the same user may trace it or read its memory and its
    /// environment. Those that may do anything (`CAP_SYS_PTRACE`) still can. To be called before secrets are read; what
    /// the process starts later has no core file, either.
    public static func hide() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        // The limit is enough for files. A program that the system pipes core files to gets them whatever the limit is; what
        // follows ends that, too.
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        herald_forbid_dumps()
    }
}
