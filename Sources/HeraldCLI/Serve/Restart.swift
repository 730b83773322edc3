import Glibc
import HeraldJSON
import HeraldPostgres
import HeraldRuntime

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

    /// Call it when everything has stopped, the log, too. Returns only if it fails, which it writes in the format of the log.
    static func perform(newestPrimary: Primary?, _ format: Log.Format) {
        setenv(variable, newestPrimary?.description ?? "", 1)
        // Connections and files: most would be closed anyway.
        closefrom(3)
        // The running binary, even if its file was replaced.
        execv("/proc/self/exe", CommandLine.unsafeArgv)
        let reason = String(cString: strerror(errno))
        let fields: Log.Fields = ["reason": "execv: \(reason)", "to_do": "start Herald again"]
        let now = Timestamp(milliseconds: Clock.system.wall())
        let line = LogLine(time: now, level: .error, message: "not restarted", fields: fields)
        _ = Output.write(Array(line.text(format).utf8), to: STDERR_FILENO)
    }
}
