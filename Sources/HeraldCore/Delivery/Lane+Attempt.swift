/// Choosing the next attempt of a lane, and settling it.
extension Lane {
    /// The source of a lane's next attempt.
    enum Source: Equatable {
        case retry(Retry)
        /// The next event of the log.
        case log(LogPosition)
        /// The next event of its current replay.
        case replay(LogPosition)

        var sequence: LogPosition {
            switch self {
            case .retry(let retry): retry.event
            case .log(let sequence), .replay(let sequence): sequence
            }
        }
    }

    /// The source of an attempt.
    enum Origin: Equatable {
        case log
        case retry
        /// From the replay with this id.
        case replay(Int64)
    }

    /// The change of a delivery after an attempt.
    enum Settlement: Equatable {
        case delivered
        /// Retry after this many nanoseconds; the row records `attempts`.
        case retry(after: Int64, attempts: Int, turn: UInt32)
        case exhausted(attempts: Int, uncounted: Int)
        /// The receiver as a whole is failing: the delivery waits for a later probe, and the attempt used up no step of
        /// the schedule.
        case held
        /// The receiver or an operator has ended the delivery.
        case dropped(attempts: Int)
        /// The delivery was requested again during the attempt: its row keeps its own plan.
        case superseded
    }

    /// The facts about a finished attempt.
    struct End {
        let sequence: LogPosition
        let origin: Origin
        let subject: String?
        /// The event type.
        var type = ""
        /// Number of attempts before it.
        let attempts: Int
        let outcome: CallbackOutcome
        let start: FlowControl.Start
        /// Monotonic nanoseconds.
        let now: Int64
        /// Milliseconds since 1970 UTC.
        let wall: Int64
        /// In the range 0..<1, for the jitter.
        let random: Double
        /// Reserves a time for a probe; see `ProbeCalendar`.
        var reserve: (Int64) -> Int64 = { $0 }
    }
}
