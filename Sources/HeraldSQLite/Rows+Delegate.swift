import HeraldCore

extension WebhookDelegate {
    static let columns = """
        key, app, id, status, start, created_at, updated_at, version, url, events, subjects, description, metadata, \
        max_in_flight, timeout_seconds, retry_schedule, headers, secrets, secret_terms, filter, format, ordering, \
        rate_limit, lease_seconds, verification, http_version, status_reason, expires_at, failing_since, tls
        """

    convenience init(_ row: Statement, _ columnSealer: ColumnSealer) throws(StoreError) {
        let key = row.integer(0)
        let state = State(
            settings: try WebhookSettings(row, key, columnSealer),
            status: try known(Status(rawValue: row.text(3)), "status", row.text(3)),
            statusReason: row.optionalText(26), secrets: try DelegateSecret.all(row, key, columnSealer),
            expiresAt: row.optionalInteger(27), failingSince: row.optionalInteger(28))
        self.init(
            app: AppKey(rawValue: row.integer(1)), key: key, id: row.text(2), state: state, start: row.integer(4),
            createdAt: row.integer(5), updatedAt: row.integer(6), version: row.integer(7))
    }
}

extension WebhookSettings {
    fileprivate init(_ row: Statement, _ key: DelegateKey, _ columnSealer: ColumnSealer) throws(StoreError) {
        self.init(
            url: String(decoding: try columnSealer.open(text: row.text(8), .url(key)), as: UTF8.self),
            events: try row.textList(9).map { text throws(StoreError) in
                try known(EventPattern(text), "event pattern", text)
            },
            subjects: try row.textList(10), description: row.text(11), metadata: try row.pairs(12),
            headers: try TextList.pairs(try columnSealer.open(text: row.text(16), .headers(key))),
            maxInFlight: Int(row.integer(13)), timeoutSeconds: Int(row.integer(14)),
            retrySchedule: try row.textList(15).map { text throws(StoreError) in
                try known(Double(text), "retry delay", text)
            })
        filter = try row.optionalText(19).map { text throws(StoreError) in
            try known(ContentFilter(text: Array(text.utf8)), "filter", text)
        }
        format = try known(Format(rawValue: row.text(20)), "format", row.text(20))
        ordering = try known(Ordering(rawValue: row.text(21)), "ordering", row.text(21))
        rateLimit = row.optionalReal(22)
        leaseSeconds = row.optionalInteger(23).map { Int($0) }
        verification = try known(Verification(rawValue: row.text(24)), "verification", row.text(24))
        httpVersion = try known(HTTPVersion(rawValue: row.text(25)), "HTTP version", row.text(25))
        tls =
            try row.optionalText(29).map { text throws(StoreError) in
                TLSSettings(try TextList.pairs(try columnSealer.open(text: text, .tls(key))))
            } ?? TLSSettings()
    }
}

extension TLSSettings {
    /// `nil` when nothing is asked for.
    var pairs: [KeyValue]? {
        if isEmpty { return nil }
        let all = [("ca", authorities), ("pin", pin), ("certificate", clientCertificate), ("key", clientKey)]
        return all.compactMap { name, value in value.map { KeyValue(name, $0) } }
    }

    fileprivate init(_ pairs: [KeyValue]) {
        func value(_ name: String) -> String? { pairs.first { $0.key == name }?.value }
        self.init(
            authorities: value("ca"), pin: value("pin"), clientCertificate: value("certificate"),
            clientKey: value("key"))
    }
}

extension DelegateSecret {
    /// The scheme of each secret and when it expires, empty for never: what stands beside the sealed bytes.
    static func terms(_ secrets: [DelegateSecret]) -> String {
        TextList.encode(
            secrets.map { KeyValue($0.secret.scheme.rawValue, $0.expiresAt.map(String.init) ?? "") })
    }

    fileprivate static func all(
        _ row: Statement, _ key: DelegateKey, _ columnSealer: ColumnSealer
    ) throws(StoreError) -> [DelegateSecret] {
        let keys = try TextList.items(try columnSealer.open(row.bytes(17), .secrets(key)))
        // Before schema version 2 there was one scheme, and no end.
        guard !row.isNull(18) else { return keys.map { DelegateSecret(SigningSecret(bytes: $0)) } }
        let terms = try row.pairs(18)
        guard terms.count == keys.count else { throw TextList.unreadable }
        return try zip(keys, terms).map { pair throws(StoreError) in
            let scheme = try known(SigningSecret.Scheme(rawValue: pair.1.key), "signature", pair.1.key)
            let end = pair.1.value
            let expiresAt = end.isEmpty ? nil : try known(Int64(end), "time", end)
            return DelegateSecret(SigningSecret(scheme, bytes: pair.0), expiresAt: expiresAt)
        }
    }
}
