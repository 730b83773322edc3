import HeraldCore

extension DelegateLog {
    /// Writes to the log of the server, whose levels have the same names.
    /// - Parameter clock: milliseconds since 1970 UTC.
    convenience init(_ log: Log, clock: @escaping @Sendable () -> Int64) {
        self.init(clock: clock) { level, message, fields in
            log.write(Log.Level.named(level.rawValue) ?? .error, message, fields)
        }
    }
}
