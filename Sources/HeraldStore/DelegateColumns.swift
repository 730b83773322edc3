package import HeraldModel

/// The columns of `delegates`. A deleted delegate remains as a tombstone, without the data that its owner provided.
package enum DelegateColumns {
    typealias Of<Value> = Column<WebhookDelegate, Value>

    static let key = Of("key", .natural, isFixed: true) { $0.key }
    static let app = Of("app", .natural, isFixed: true) { $0.app.rawValue }
    static let id = Of("id", .text, isFixed: true) { $0.id }
    static let start = Of("start", .natural) { $0.start }
    static let createdAt = Of("created_at", .time) { $0.createdAt }
    static let updatedAt = Of("updated_at", .time) { $0.updatedAt }
    static let version = Of("version", .natural) { $0.version }

    static let status = Of("status", .name) { $0.status }
    static let statusReason = Of("status_reason", .optionalText, wiped: .null) { $0.state.statusReason }
    static let expiresAt = Of("expires_at", .optionalTime) { $0.state.expiresAt }
    static let failingSince = Of("failing_since", .optionalTime) { $0.state.failingSince }
    static let secrets = Of("secrets", .blobs, wiped: .blob([]), isSealed: true) {
        $0.state.secrets.map(\.secret.bytes)
    }
    /// The scheme and expiry of each secret; an empty expiry is never.
    static let secretTerms = Of("secret_terms", .pairs, wiped: .text("")) {
        $0.state.secrets.map { KeyValue($0.secret.scheme.rawValue, $0.expiresAt.map(String.init) ?? "") }
    }

    /// The callback URL. Equal URLs are sealed to different bytes, so only the registry can check that URLs are unique in an
    /// app.
    static let url = Of("url", .text, wiped: .text(""), isSealed: true) { $0.settings.url }
    static let events = Of("events", .list({ $0.text }, { EventPattern($0) }), wiped: .text("")) { $0.settings.events }
    static let subjects = Of("subjects", .texts, wiped: .text("")) { $0.settings.subjects }
    static let metadata = Of("metadata", .pairs, wiped: .text("")) { $0.settings.metadata }
    static let headers = Of("headers", .pairs, wiped: .text(""), isSealed: true) { $0.settings.headers }
    static let retrySchedule = Of("retry_schedule", .schedule, wiped: .text("")) { $0.settings.retrySchedule }
    static let filter = Of("filter", .filter, wiped: .null) { $0.settings.filter }
    static let tls = Of("tls", .optionalPairs, wiped: .null, isSealed: true) { $0.settings.tls.pairs }

    /// With the secrets of `auth`.
    static let request = Of("request", .recipe, wiped: .null, isSealed: true) { $0.settings.request }

    /// The settings: each with its column, and how a stored value gets into settings.
    fileprivate static let settings = WebhookField.all.map(SettingColumn.init)

    package static let table = RowTable<WebhookDelegate>(
        "delegates",
        [
            key, app, id, start, createdAt, updatedAt, version, status, statusReason, expiresAt, failingSince, secrets,
            secretTerms,
        ] + settings.map(\.column))
}

/// The column of a setting.
private struct SettingColumn: Sendable {
    let column: any TableColumn<WebhookDelegate>
    let read: @Sendable (StoredRow<WebhookDelegate>, inout WebhookSettings) throws(StoreError) -> Void
    /// For a value that can't be read: the rules refuse what it sets, so that no default is used before the owner has set
    /// the delegate again.
    let lose: @Sendable (inout WebhookSettings) -> Void

    init(_ field: WebhookField) {
        switch field.kind {
        case .integer(let access, _): self.init(field, .int, access)
        case .optionalInteger(let access, _): self.init(field, .optionalInt, access)
        case .optionalNumber(let access, _): self.init(field, .optionalReal, access)
        case .text(let access, _): self.init(field, .text, access, wiped: .text(""))
        case .choice(let choice):
            self.init(
                DelegateColumns.Of(field.name, .text) { choice.get($0.settings) },
                { settings, word throws(StoreError) in
                    if !choice.set(&settings, word) { _ = try known(String?.none, field.name, word) }
                })
        case .special(let special): self.init(special)
        }
    }

    private init<Value>(
        _ field: WebhookField, _ type: ColumnType<Value>, _ access: WebhookField.Access<Value>,
        wiped: ColumnValue? = nil
    ) {
        self.init(DelegateColumns.Of(field.name, type, wiped: wiped) { access.get($0.settings) }, access.set)
    }

    private init(_ field: WebhookField.Special) {
        typealias Columns = DelegateColumns
        switch field {
        case .url: self.init(Columns.url, { $0.url = $1 }, lose: { $0.url = "unreadable" })
        case .events: self.init(Columns.events, { $0.events = $1 })
        case .subjects: self.init(Columns.subjects, { $0.subjects = $1 })
        case .filter: self.init(Columns.filter, { $0.filter = $1 })
        case .metadata: self.init(Columns.metadata, { $0.metadata = $1 })
        case .headers: self.init(Columns.headers, { $0.headers = $1 }, lose: { $0.headers = [KeyValue("", "")] })
        case .retrySchedule: self.init(Columns.retrySchedule, { $0.retrySchedule = $1 })
        case .tls:
            self.init(
                Columns.tls, { $0.tls = $1.map { TLSSettings($0) } ?? TLSSettings() },
                lose: {
                    $0.tls = TLSSettings(
                        authorities: "unreadable", pin: "unreadable", clientCertificate: "unreadable",
                        clientKey: "unreadable")
                })
        case .request: self.init(Columns.request, { $0.request = $1 }, lose: { $0.request = Recipe(stored: []) })
        }
    }

    private init<Value>(
        _ column: Column<WebhookDelegate, Value>,
        _ set: @escaping @Sendable (inout WebhookSettings, Value) throws(StoreError) -> Void,
        lose: @escaping @Sendable (inout WebhookSettings) -> Void = { $0.events = [] }
    ) {
        self.column = column
        self.lose = lose
        read = { row, settings throws(StoreError) in try set(&settings, try row(column)) }
    }
}

extension WebhookDelegate {
    package static let columns = DelegateColumns.table.list

    /// - Parameter damaged: with it, values that can't be read disable the delegate, whose reason names them, and the row is recorded.
    ///   All but its key, by which other tables refer to it.
    package convenience init(
        _ statement: some ResultRow, _ columnSealer: ColumnSealer, _ damaged: DamagedRows? = nil
    ) throws(StoreError) {
        typealias Columns = DelegateColumns
        let row = Columns.table.row(statement, columnSealer)
        var lost: [String] = []
        var cause = ""
        func read(_ column: String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
            do throws(StoreError) {
                try body()
            } catch {
                guard damaged != nil, case .unreadable(let reason) = error else { throw error }
                if lost.isEmpty { cause = reason }
                lost.append(column)
            }
        }
        func value<Value>(
            of column: Column<WebhookDelegate, Value>, else standIn: Value
        ) throws(StoreError) -> Value {
            var value = standIn
            try read(column.name) { () throws(StoreError) in value = try row(column) }
            return value
        }
        let key = try row(Columns.key)
        // No app has this key.
        let app = try value(of: Columns.app, else: 0)
        var id = "dlg_\(key)"
        try read(Columns.id.name) { () throws(StoreError) in id = try row.key(Columns.id) }
        let start = try value(of: Columns.start, else: 0)
        let createdAt = try value(of: Columns.createdAt, else: 0)
        let updatedAt = try value(of: Columns.updatedAt, else: 0)
        let version = try value(of: Columns.version, else: 1)
        // The lease begins again with the next resumption.
        let expiresAt = try value(of: Columns.expiresAt, else: nil)
        let failingSince = try value(of: Columns.failingSince, else: nil)
        var settings = WebhookSettings(url: "")
        for setting in Columns.settings {
            try read(setting.column.name) { () throws(StoreError) in try setting.read(row, &settings) }
        }
        var status = try value(of: Columns.status, else: .disabled)
        var secrets: [DelegateSecret] = []
        try read(Columns.secrets.name) { () throws(StoreError) in secrets = try DelegateSecret.all(row) }
        var reason = try row(Columns.statusReason)
        if !lost.isEmpty {
            for setting in Columns.settings
            where lost.contains(setting.column.name) && settings.kind.hasField(setting.column.name) {
                setting.lose(&settings)
            }
            status = .disabled
            reason = Reason.unreadable(lost.joined(separator: ", "))
            damaged?.record("\(key), \(id)", in: Columns.table.name, cause)
        }
        let state = State(
            settings: settings, status: status, statusReason: reason, secrets: secrets, expiresAt: expiresAt,
            failingSince: failingSince)
        self.init(
            app: AppKey(rawValue: app), key: key, id: id, state: state, start: start, createdAt: createdAt,
            updatedAt: updatedAt, version: version)
    }
}

extension WebhookDelegate {
    /// Reads a row of `columns` without the key of its sealed columns, which are left out.
    /// - Throws: if Herald cannot have written one of the others.
    package static func checkUnsealed(_ statement: some ResultRow) throws(StoreError) {
        typealias Columns = DelegateColumns
        let row = Columns.table.row(statement)
        _ = try (row(Columns.app), row.key(Columns.id), row(Columns.start), row(Columns.version), row(Columns.status))
        _ = try (row(Columns.createdAt), row(Columns.updatedAt), row(Columns.expiresAt), row(Columns.failingSince))
        for term in try row(Columns.secretTerms) {
            _ = try known(SigningSecret.Scheme(rawValue: term.key), "signature", term.key)
        }
        var settings = WebhookSettings(url: "")
        for setting in Columns.settings where !setting.column.isSealed { try setting.read(row, &settings) }
    }
}

extension ColumnType<[Double]> {
    /// Delegates with the default schedule share it, and nothing is parsed for them.
    fileprivate static let schedule: ColumnType = {
        let any = list({ (delay: Double) in delay.description }, { Double($0) })
        let usual = WebhookSettings.defaultRetrySchedule
        let usualText = any.write(usual).text
        return ColumnType(
            write: any.write,
            read: { value, column throws(StoreError) in
                value.text == usualText ? usual : try any.read(value, column)
            })
    }()
}

extension ColumnType<ContentFilter?> {
    fileprivate static let filter = ColumnType(
        write: { $0.map { .text(String(decoding: $0.text, as: UTF8.self)) } ?? .null },
        read: { value, column throws(StoreError) in
            guard let text = value.text else { return nil }
            return try known(ContentFilter(text: Array(text.utf8)), column, text)
        })
}

extension ColumnType<Recipe?> {
    fileprivate static let recipe = ColumnType(
        write: { $0.map { .text(String(decoding: $0.text, as: UTF8.self)) } ?? .null },
        read: { value, _ in value.text.map { Recipe(stored: Array($0.utf8)) } })
}

extension TLSSettings {
    /// `nil` if there are none.
    fileprivate var pairs: [KeyValue]? {
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
    fileprivate static func all(_ row: StoredRow<WebhookDelegate>) throws(StoreError) -> [DelegateSecret] {
        let keys = try row(DelegateColumns.secrets)
        let terms = try row(DelegateColumns.secretTerms)
        guard terms.count == keys.count else { throw TextList.unreadable }
        return try zip(keys, terms).map { pair throws(StoreError) in
            let scheme = try known(SigningSecret.Scheme(rawValue: pair.1.key), "signature", pair.1.key)
            let end = pair.1.value
            let expiresAt = end.isEmpty ? nil : try StoredNumber.integer(try known(Int64(end), "time", end), "time")
            return DelegateSecret(SigningSecret(scheme, bytes: pair.0), expiresAt: expiresAt)
        }
    }
}
