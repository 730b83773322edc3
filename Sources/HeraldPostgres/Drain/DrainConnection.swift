import HeraldModel
import HeraldStore

/// A session in the database of a program, with the settings of its role: opened when it is needed, and again after a loss.
final class DrainConnection {
    /// The servers and the database, without the user and the password.
    let label: String
    private let url: String
    private var session: PostgresSession?

    /// The longest time to connect, in seconds.
    private static let connectSeconds = 10.0
    /// The longest time for a message of statements, in seconds.
    private static let runSeconds = 60.0

    init(url: String) throws(OutboxError) {
        do throws(StoreError) {
            label = try Database(url: url).label
        } catch {
            throw .unusable(error.description)
        }
        self.url = url
    }

    /// The transaction of a batch stays open while its events are published.
    private static let settings = Statement(
        """
        SELECT set_config('idle_in_transaction_session_timeout', '0', false), set_config('jit', 'off', false),
            set_config('log_parameter_max_length_on_error', '0', false), \(Database.unlimited)
        """)

    /// Runs requests in one message. They are one transaction, unless one was begun.
    func run(_ requests: [Request]) throws(OutboxError) -> [Rows] {
        do throws(PostgresError) {
            let session = try connected()
            return try session.run([requests], seconds: Self.runSeconds)
        } catch {
            switch error {
            case .unavailable(let reason), .lost(let reason):
                session = nil
                throw .unavailable(reason)
            case .refused(_, let state, let message):
                rollBack()
                // No connection, a conflict, a slot or row in use, no resources, a server that stops.
                let isTemporary =
                    ["08", "40", "53", "57"].contains { state.hasPrefix($0) } || ["55006", "55P03"].contains(state)
                throw isTemporary ? .unavailable(message) : .unusable("\(label): \(message).")
            }
        }
    }

    private func connected() throws(PostgresError) -> PostgresSession {
        if let session {
            if session.isAlive { return session }
            // Its transaction is lost, too: the caller has to begin again.
            throw .lost("the connection was closed")
        }
        let opened = try PostgresSession(
            [
                ("application_name", "herald drain"), ("keepalives_idle", "10"), ("tcp_user_timeout", "30000"),
                ("dbname", url), ("target_session_attrs", "read-write"), ("client_encoding", "UTF8"),
            ].map { (name: $0.0, value: $0.1) }, seconds: Self.connectSeconds)
        _ = try opened.run(Request(Self.settings), seconds: Self.connectSeconds)
        session = opened
        return opened
    }

    /// Ends the transaction, if there is one.
    func rollBack() {
        guard let open = session else { return }
        do throws(PostgresError) {
            _ = try open.run(Request(.rollback), seconds: Self.connectSeconds)
        } catch {
            open.close()
            session = nil
        }
    }
}
