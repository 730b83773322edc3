import Glibc

/// The environment of the process.
enum Environment {
    /// The folder of the credentials that systemd provides; `nil` if there is none.
    static var credentials: String? { getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) } }

    /// All variables that begin with `HERALD_` or, for OpenTelemetry, with `OTEL_`, known or not.
    static var current: [String: String] {
        var result: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, ["HERALD_", "OTEL_"].contains(where: parts[0].hasPrefix) {
                result[String(parts[0])] = String(parts[1])
            }
            entry += 1
        }
        return result
    }
}
