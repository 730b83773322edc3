import HeraldCore

/// Webhooks, as the writer has them: `delegates`, and how what belongs to one goes with it.
struct DelegateTable {
    private let connection: Connection
    private let columnSealer: ColumnSealer
    private let set, wipe: Statement
    /// By delegate, from the tables that refer to it.
    private let removals: [Statement]

    init(_ connection: Connection, _ columnSealer: ColumnSealer) throws(StoreError) {
        self.connection = connection
        self.columnSealer = columnSealer
        set = try Statement(
            connection,
            """
            INSERT INTO delegates (\(WebhookDelegate.columns))
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
            ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30)
            ON CONFLICT (key) DO UPDATE SET
            status = excluded.status, updated_at = excluded.updated_at, version = excluded.version,
            url = excluded.url, events = excluded.events, subjects = excluded.subjects,
            description = excluded.description, metadata = excluded.metadata,
            max_in_flight = excluded.max_in_flight, timeout_seconds = excluded.timeout_seconds,
            retry_schedule = excluded.retry_schedule, headers = excluded.headers, secrets = excluded.secrets,
            secret_terms = excluded.secret_terms, filter = excluded.filter, format = excluded.format,
            ordering = excluded.ordering, rate_limit = excluded.rate_limit, lease_seconds = excluded.lease_seconds,
            verification = excluded.verification, http_version = excluded.http_version,
            status_reason = excluded.status_reason, expires_at = excluded.expires_at,
            failing_since = excluded.failing_since, tls = excluded.tls
            WHERE deleted_at IS NULL
            """)
        wipe = try Statement(
            connection,
            """
            UPDATE delegates SET deleted_at = ?2, updated_at = ?2, url = '', events = '', subjects = '',
            description = '', metadata = '', retry_schedule = '', headers = '', secrets = x'', secret_terms = NULL,
            filter = NULL, status_reason = NULL, tls = NULL
            WHERE key = ?1 AND deleted_at IS NULL
            """)
        var removals: [Statement] = []
        for table in ["lanes", "waiting", "replays", "statistics", "attempt_heads"] {
            removals.append(try Statement(connection, "DELETE FROM \(table) WHERE delegate = ?1"))
        }
        self.removals = removals
    }

    func set(_ delegate: WebhookDelegate) throws(StoreError) {
        let settings = delegate.settings
        let state = delegate.state
        set.bind(1, delegate.key)
        set.bind(2, delegate.app.rawValue)
        set.bind(3, delegate.id)
        set.bind(4, delegate.status.rawValue)
        set.bind(5, delegate.start)
        set.bind(6, delegate.createdAt)
        set.bind(7, delegate.updatedAt)
        set.bind(8, delegate.version)
        // Sealed, the same text is another each time: that no two of an app have one URL only the registry knows then.
        set.bind(9, try columnSealer.seal(text: settings.url, .url(delegate.key)))
        set.bind(10, TextList.encode(settings.events.map(\.text)))
        set.bind(11, TextList.encode(settings.subjects))
        set.bind(12, settings.description)
        set.bind(13, TextList.encode(settings.metadata))
        set.bind(14, Int64(settings.maxInFlight))
        set.bind(15, Int64(settings.timeoutSeconds))
        set.bind(16, TextList.encode(settings.retrySchedule.map(\.description)))
        set.bind(17, try columnSealer.seal(text: TextList.encode(settings.headers), .headers(delegate.key)))
        set.bind(19, DelegateSecret.terms(state.secrets))
        set.bind(20, settings.filter.map { String(decoding: $0.text, as: UTF8.self) })
        set.bind(21, settings.format.rawValue)
        set.bind(22, settings.ordering.rawValue)
        set.bind(23, real: settings.rateLimit)
        set.bind(24, settings.leaseSeconds.map { Int64($0) })
        set.bind(25, settings.verification.rawValue)
        set.bind(26, settings.httpVersion.rawValue)
        set.bind(27, state.statusReason)
        set.bind(28, state.expiresAt)
        set.bind(29, state.failingSince)
        set.bind(
            30,
            try settings.tls.pairs.map { pairs throws(StoreError) in
                try columnSealer.seal(text: TextList.encode(pairs), .tls(delegate.key))
            })
        let secrets = TextList.encode(state.secrets.map(\.secret.bytes))
        try set.run(18, lent: try columnSealer.seal(secrets, .secrets(delegate.key)))
        if connection.changes == 0 { throw .failed(reason: "delegate \(delegate.id) was deleted") }
    }

    func remove(_ key: DelegateKey, at time: Int64) throws(StoreError) {
        wipe.bind(1, key)
        wipe.bind(2, time)
        try wipe.run()
        for statement in removals {
            statement.bind(1, key)
            try statement.run()
        }
    }
}
