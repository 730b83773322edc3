import HeraldCore

extension DelegateLog {
    /// Writes to the log of the server.
    /// - Parameter clock: milliseconds since 1970 UTC.
    convenience init(_ log: Log, clock: @escaping @Sendable () -> Int64) {
        self.init(clock: clock) { level, message, fields in log.write(Log.Level(level), message, fields) }
    }
}

extension Log.Level {
    fileprivate init(_ level: LogEntry.Level) {
        self =
            switch level {
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
    }
}
