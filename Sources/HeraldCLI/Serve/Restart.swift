import Glibc
import HeraldPostgres

/// The process begins anew without ending, when what it has in memory of a database may not be true any more.
///
/// It replaces itself by its own binary, with its arguments and environment. That forgets everything for certain, and what
/// follows is a start like any other; parts that are stopped and made again within the process would do that in many more
/// lines, which hardly ever run. Who supervises the process sees no end: its number stays.
enum Restart {
    /// What a life of the process leaves to the next one. Not `HERALD_…`: nobody else sets it.
    private static let variable = "_HERALD_NEWEST_PRIMARY"

    /// Whether this is not the first life of the process.
    static var hasHappened: Bool { getenv(variable) != nil }

    /// The newest server that the process has written to.
    static var newestPrimary: Primary? { getenv(variable).flatMap { Primary(String(cString: $0)) } }

    /// Call it when everything has stopped. Returns only if it fails.
    static func perform(newestPrimary: Primary?) {
        setenv(variable, newestPrimary?.description ?? "", 1)
        // Connections and files: most would be closed anyway.
        closefrom(3)
        // The binary that runs, also when another one has taken its place.
        execv("/proc/self/exe", CommandLine.unsafeArgv)
    }
}
