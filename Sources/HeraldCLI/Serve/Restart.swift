import Glibc
import HeraldPostgres

/// Re-executes the binary when the state in memory may no longer match the database.
///
/// The new image gets the same arguments and environment, and starts from the database alone. Stopping and recreating
/// parts within the process would need many more lines, which hardly ever run. The PID does not change, so a supervisor
/// does not notice.
enum Restart {
    /// The variable that passes the newest primary to the next image. Not `HERALD_…`, because it is no setting.
    private static let variable = "_HERALD_NEWEST_PRIMARY"

    static var hasHappened: Bool { getenv(variable) != nil }

    /// The newest server that the process has written to.
    static var newestPrimary: Primary? { getenv(variable).flatMap { Primary(String(cString: $0)) } }

    /// Call it when everything has stopped. Returns only if it fails.
    static func perform(newestPrimary: Primary?) {
        setenv(variable, newestPrimary?.description ?? "", 1)
        // Connections and files: most would be closed anyway.
        closefrom(3)
        // The running binary, even if its file was replaced.
        execv("/proc/self/exe", CommandLine.unsafeArgv)
        // The log has ended.
        let reason = String(cString: strerror(errno))
        Output.message("herald: the restart within the process has failed, and it ends: \(reason)\n")
    }
}
