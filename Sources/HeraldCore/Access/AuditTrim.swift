/// The entries of the audit log to remove beyond its limit. A pure value.
///
/// The apps that have most lose their oldest entries, until they have as many as the next one, or the limit is met. So the
/// changes of one app push out none of the others. Where many apps have as many, the oldest entries of all are removed.
package struct AuditTrim: Equatable, Sendable {
    /// A number of entries of an app.
    package struct Share: Equatable, Sendable {
        package let app: AppKey
        package let entries: Int64

        package init(app: AppKey, entries: Int64) {
            self.app = app
            self.entries = entries
        }
    }

    /// The oldest entries that these apps lose.
    package let shares: [Share]
    /// The number of the oldest entries of all apps to remove after that.
    package let oldest: Int64
    /// The entries that may be added before the limit is reached again.
    private let room: Int64

    /// Each of these apps costs a search through the log.
    private static let maxApps = 8

    /// - Parameter counts: the entries of all apps.
    package init(_ counts: [Share], limit: Int64 = AuditEntry.limit) {
        let total = counts.reduce(0) { $0 + $1.entries }
        let excess = total - limit
        room = max(0, -excess)
        guard excess > 0 else {
            shares = []
            oldest = 0
            return
        }
        let sorted = counts.sorted { ($0.entries, $1.app.rawValue) > ($1.entries, $0.app.rawValue) }
        let most = min(Self.maxApps, sorted.count)
        var (apps, sum, next) = (0, Int64(0), Int64(0))
        repeat {
            sum += sorted[apps].entries
            apps += 1
            next = apps < sorted.count ? sorted[apps].entries : 0
        } while apps < most && sum - Int64(apps) * next < excess
        let removed = min(excess, sum - Int64(apps) * next)
        // About as many stay of each.
        let (level, extra) = (sum - removed).quotientAndRemainder(dividingBy: Int64(apps))
        shares = sorted.prefix(apps).enumerated().compactMap { index, share in
            let kept: Int64 = level + (Int64(index) < extra ? 1 : 0)
            return share.entries > kept ? Share(app: share.app, entries: share.entries - kept) : nil
        }
        oldest = excess - removed
    }

    /// The id of an entry before which the log need not be counted again.
    /// - Parameter last: the id of the last entry.
    package func next(after last: Int64) -> Int64 { last + room + AuditEntry.slack }
}
