import HeraldJSON
import HeraldRuntime

/// How a flag that takes a time interprets a duration: `1h` is an hour ago, or in an hour.
enum TimeDirection: Sendable {
    case past
    case future

    /// The text itself, or the time for a duration, with the clock of this machine.
    /// - Throws: if the flag takes only times, and the text is invalid.
    func value(_ text: String, of flag: Command.Flag) throws(CommandError) -> String {
        if let duration = DurationText.milliseconds(text) {
            let now = Clock.system.wall()
            return Timestamp(milliseconds: self == .past ? now - duration : now + duration).description
        }
        // Flags with other placeholders also take ids.
        guard flag.placeholder != "TIME" || Timestamp(rfc3339: text) != nil else {
            throw CommandError(
                "--\(flag.name) is \"\(text)\", but must be a time such as 2026-11-21T11:50:00Z, or "
                    + (self == .past ? "1h for an hour ago." : "1h for in an hour."))
        }
        return text
    }
}
