internal import CHeraldLinux
import Glibc

/// Protects the process's memory, which contains keys, secrets and the environment.
package enum ProcessMemory {
    /// Disables core files, and prevents other processes of the same user from tracing the process or reading its
    /// memory and environment. Processes with `CAP_SYS_PTRACE` still can. Must be called before secrets are read; child
    /// processes have no core files, either.
    package static func hide() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        // The limit applies to files. A program to which the system pipes core files gets them regardless of it; the
        // next call prevents that, too.
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        herald_forbid_dumps()
    }
}
