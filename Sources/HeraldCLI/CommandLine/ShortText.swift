import HeraldJSON
import HeraldRuntime

/// Short forms of cells, for narrow screens.
enum ShortText {
    /// The last characters of an id. Ids of the same time have the same beginning.
    static let idLength = 6

    /// `dlg_…TYRGWB`
    static func id(_ text: String) -> String {
        guard let line = text.firstIndex(of: "_"), text.count > 20 else { return text }
        return text[...line] + "…" + text.suffix(idLength)
    }

    /// `3 m ago`, or `in 3 m`.
    /// - Parameter now: milliseconds since 1970 UTC.
    static func time(_ text: String, now: Int64) -> String {
        guard let time = Timestamp(rfc3339: text) else { return text }
        let distance = now - time.milliseconds
        let seconds = abs(distance) / 1000
        let words =
            switch seconds {
            case ..<60: "\(seconds) s"
            case ..<3600: "\(seconds / 60) m"
            case ..<172_800: "\(seconds / 3600) h"
            default: "\(seconds / 86_400) d"
            }
        return distance >= 0 ? words + " ago" : "in " + words
    }

    /// The host of a URL, with its port.
    static func host(_ text: String) -> String {
        guard let range = text.place(of: "://") else { return text }
        return String(text[range.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" })
    }
}
