/// What a lane says of its next attempt, what it is told of its end, and what becomes of the delivery.
extension Lane {
    /// What a lane starts next.
    enum Source: Equatable {
        case retry(Retry)
        /// The next event of the log.
        case log(LogPosition)
        /// The next event of its replay.
        case replay(LogPosition)

        var sequence: LogPosition {
            switch self {
            case .retry(let retry): retry.event
            case .log(let sequence), .replay(let sequence): sequence
            }
        }
    }

    /// Where an attempt came from.
    enum Origin: Equatable {
        case log
        case retry
        /// Of the replay with this id.
        case replay(Int64)
    }

    /// What becomes of a delivery after an attempt.
    enum Settlement: Equatable {
        case delivered
        /// Try again after so many nanoseconds; it counts as `attempts`.
        case retry(after: Int64, attempts: Int, turn: UInt32)
        case exhausted(attempts: Int)
        /// The delegate as a whole is failing: the delivery waits for a later probe with the attempts it had.
        case held
        /// It was ended by request, its receiver's or an operator's.
        case dropped(attempts: Int)
        /// It was asked for again while the attempt was under way: its row goes on by its own plan.
        case superseded
    }

    /// What is known of the end of an attempt.
    struct End {
        let sequence: LogPosition
        let origin: Origin
        let subject: String?
        /// How many were made before it.
        let attempts: Int
        let outcome: CallbackOutcome
        let start: FlowControl.Start
        /// Monotonic nanoseconds.
        let now: Int64
        /// Milliseconds since 1970 UTC.
        let wall: Int64
        /// Within 0..<1, for the jitter.
        let random: Double
        /// Finds a time for a probe; see `ProbeCalendar`.
        var reserve: (Int64) -> Int64 = { $0 }
    }
}
