package import HeraldCore
package import HeraldRuntime

/// Whether a database can be used, for operators. Changes nothing in it.
package struct PostgresCheck: Sendable {
    /// The servers and the database, without the user and the password.
    package let label: String
    /// How far the clock of the database is ahead of this machine's, in milliseconds: at least and at most.
    package let clockOffset: ClosedRange<Int64>

    /// - Parameter url: `postgres://user@host1,host2/database?…`, as libpq takes it.
    package init(url: String, clock: Clock = .system) throws(StoreError) {
        let database = try Database(url: url)
        label = database.label
        let session = try database.open(.read)
        let sent = clock.wall()
        let row: Rows
        do throws(PostgresError) {
            row = try session.run(Request(Self.time), seconds: Database.readSeconds)
        } catch {
            throw error.ofRead(label)
        }
        let received = max(sent, clock.wall())
        guard let time = row.first?.integer(0) else { throw .unavailable(reason: "the database returned no time") }
        clockOffset = (time - received)...(time - sent)
    }

    private static let time = Statement("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
}
