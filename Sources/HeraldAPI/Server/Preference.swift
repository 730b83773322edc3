import HeraldHTTP
import HeraldRuntime

/// The request header `Prefer` (RFC 7240).
enum Preference {
    /// Seconds to wait, at most `maxWait`; `nil` without a valid preference. Unknown and malformed preferences are
    /// ignored.
    static func wait(_ head: RequestHead) -> Int? {
        head.list(of: "Prefer").flatMap { wait($0) }
    }

    /// - Parameter value: the value of the header.
    static func wait(_ value: String) -> Int? {
        for preference in value.split(separator: ",") {
            // Parameters follow a semicolon; `wait` has none.
            let pair = preference.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, trimmed(pair[0]).lowercased() == "wait" else { continue }
            // The first one counts.
            return Int(trimmed(pair[1])).flatMap { $0 >= 1 ? min($0, maxWait) : nil }
        }
        return nil
    }

    static let maxWait = 60

    private static func trimmed(_ text: Substring) -> Substring {
        text.trimmed { $0 == " " || $0 == "\t" || $0 == "\"" }
    }
}
