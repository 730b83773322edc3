/// The rows to remove from a table that all apps share, beyond its limit. A pure value.
///
/// The apps with the most rows lose their oldest ones, until they have as many as the next app, or the limit is met: an app
/// with few rows keeps them. If more than a few apps have the most, the oldest rows of the table go.
package struct TableTrim: Equatable, Sendable {
    /// A number of rows of an app.
    package struct Share: Equatable, Sendable {
        package let app: AppKey
        package let rows: Int64

        package init(app: AppKey, rows: Int64) {
            self.app = app
            self.rows = rows
        }
    }

    /// The oldest rows that these apps lose.
    package let shares: [Share]
    /// The number of the oldest rows of all apps to remove after that.
    package let oldest: Int64
    /// The rows that may be added before the limit is reached again.
    private let room: Int64

    /// Each of these apps costs a search through the table.
    private static let maxApps = 8

    /// - Parameter counts: the rows of all apps.
    package init(_ counts: [Share], limit: Int64) {
        let total = counts.reduce(0) { $0 + $1.rows }
        let excess = total - limit
        room = max(0, -excess)
        guard excess > 0 else {
            shares = []
            oldest = 0
            return
        }
        let sorted = counts.sorted { ($0.rows, $1.app.rawValue) > ($1.rows, $0.app.rawValue) }
        let most = min(Self.maxApps, sorted.count)
        var (apps, sum, next) = (0, Int64(0), Int64(0))
        repeat {
            sum += sorted[apps].rows
            apps += 1
            next = apps < sorted.count ? sorted[apps].rows : 0
        } while apps < most && sum - Int64(apps) * next < excess
        let removed = min(excess, sum - Int64(apps) * next)
        // About as many stay of each.
        let (level, extra) = (sum - removed).quotientAndRemainder(dividingBy: Int64(apps))
        shares = sorted.prefix(apps).enumerated().compactMap { index, share in
            let kept: Int64 = level + (Int64(index) < extra ? 1 : 0)
            return share.rows > kept ? Share(app: share.app, rows: share.rows - kept) : nil
        }
        oldest = excess - removed
    }

    /// The number of a row before which the table need not be counted again, where rows have ascending numbers.
    /// - Parameters:
    ///   - last: the number of the last row.
    ///   - slack: the rows that there may be beyond the limit.
    package func next(after last: Int64, slack: Int64) -> Int64 { last + room + slack }
}
