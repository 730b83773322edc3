import Glibc

enum Environment {
    /// The folder of the credentials that systemd provides; `nil` if there is none.
    static var credentials: String? { getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) } }

    /// All variables, for a program that is started.
    static var all: [(name: String, value: String)] {
        var result: [(name: String, value: String)] = []
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { result.append((String(parts[0]), String(parts[1]))) }
            entry += 1
        }
        return result
    }

    /// All variables that begin with `HERALD_` or, for OpenTelemetry, with `OTEL_`, known or not.
    static var current: [String: String] {
        let own = all.filter { variable in ["HERALD_", "OTEL_"].contains { variable.name.hasPrefix($0) } }
        return Dictionary(own) { $1 }
    }
}
