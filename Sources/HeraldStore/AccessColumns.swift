package import HeraldModel

// The columns of apps, keys, sessions and the audit log.

package enum AppColumns {
    typealias Of<Value> = Column<App, Value>

    static let key = Of("key", .natural) { $0.key.rawValue }
    static let id = Of("id", .text) { $0.id }
    static let name = Of("name", .text, wiped: .text("")) { $0.settings.name }
    static let maxDelegates = Of("max_delegates", .optionalInt) { $0.settings.maxDelegates }
    static let eventsPerSecond = Of("events_per_second", .optionalInt) { $0.settings.eventsPerSecond }
    static let maxStoredBytes = Of("max_stored_bytes", .optionalInteger) { $0.settings.maxStoredBytes }
    static let createdAt = Of("created_at", .integer) { $0.createdAt }
    static let updatedAt = Of("updated_at", .integer) { $0.updatedAt }
    static let version = Of("version", .natural) { $0.version }
    static let title = Of("portal_title", .optionalText, wiped: .null) { $0.settings.portal.title }
    static let logo = Of("portal_logo", .optionalText, wiped: .null) { $0.settings.portal.logo }
    static let color = Of("portal_color", .optionalText, wiped: .null) { $0.settings.portal.color }
    static let language = Of("portal_language", .name) { $0.settings.portal.language }
    static let frameOrigins = Of("portal_frame_origins", .texts, wiped: .text("")) { $0.settings.portal.frameOrigins }

    package static let table = RowTable<App>(
        "apps",
        [
            key, id, name, maxDelegates, eventsPerSecond, maxStoredBytes, createdAt, updatedAt, version, title, logo,
            color, language, frameOrigins,
        ])
}

extension App: RowConvertible {
    package static let columns = AppColumns.table.list

    package init(_ statement: some ResultRow) throws(StoreError) {
        typealias Columns = AppColumns
        let row = Columns.table.row(statement)
        self.init(
            key: AppKey(rawValue: try row(Columns.key)), id: try row.key(Columns.id),
            settings: Settings(
                name: try row.key(Columns.name), maxDelegates: try row(Columns.maxDelegates),
                eventsPerSecond: try row(Columns.eventsPerSecond),
                maxStoredBytes: try row(Columns.maxStoredBytes),
                portal: Portal(
                    title: try row(Columns.title), logo: try row(Columns.logo), color: try row(Columns.color),
                    language: try row(Columns.language), frameOrigins: try row(Columns.frameOrigins))),
            createdAt: try row(Columns.createdAt), updatedAt: try row(Columns.updatedAt),
            version: try row(Columns.version))
    }
}

package enum KeyColumns {
    typealias Of<Value> = Column<APIKey, Value>

    static let app = Of("app", .natural) { $0.app.rawValue }
    static let id = Of("id", .text) { $0.id }
    static let name = Of("name", .text) { $0.name }
    static let scopes = Of("scopes", .list({ $0.rawValue }, { Scope(rawValue: $0) })) { $0.scopes }
    static let digest = Of("digest", .blob) { $0.digest }
    static let createdAt = Of("created_at", .integer) { $0.createdAt }
    static let expiresAt = Of("expires_at", .optionalInteger) { $0.expiresAt }
    static let lastUsedAt = Of("last_used_at", .optionalInteger) { $0.lastUsedAt }
    static let requestsPerSecond = Of("requests_per_second", .optionalInt) { $0.requestsPerSecond }
    static let delegate = Of("delegate", .optionalText) { $0.delegate }

    package static let table = RowTable<APIKey>(
        "keys", key: 1...1,
        [app, id, name, scopes, digest, createdAt, expiresAt, lastUsedAt, requestsPerSecond, delegate])
}

extension APIKey: RowConvertible {
    package static let columns = KeyColumns.table.list

    package init(_ statement: some ResultRow) throws(StoreError) {
        typealias Columns = KeyColumns
        let row = Columns.table.row(statement)
        self.init(
            app: AppKey(rawValue: try row(Columns.app)), id: try row.key(Columns.id), name: try row(Columns.name),
            scopes: try row(Columns.scopes), digest: try row(Columns.digest),
            createdAt: try row(Columns.createdAt), expiresAt: try row(Columns.expiresAt),
            lastUsedAt: try row(Columns.lastUsedAt), requestsPerSecond: try row(Columns.requestsPerSecond),
            delegate: try row(Columns.delegate))
    }

    /// Replaces a key whose row can't be read, while the process runs. It opens nothing. Without it, a server whose last key was
    /// damaged would admit requests without a key.
    /// - Parameter row: a row of `columns`.
    package init(unreadable row: some ResultRow) {
        self.init(
            app: (try? row.app(0)) ?? AppKey(rawValue: 0), id: row.text(1), name: "", scopes: [], digest: [],
            createdAt: 0, expiresAt: 0)
    }
}

package enum SessionColumns {
    typealias Of<Value> = Column<Session, Value>

    static let digest = Of("digest", .blob) { $0.digest }
    static let kind = Of("kind", .number) { $0.kind }
    static let app = Of("app", .natural) { $0.app.rawValue }
    static let key = Of("key", .text) { $0.key }
    static let expiresAt = Of("expires_at", .integer) { $0.expiresAt }

    package static let table = RowTable<Session>("passes", [digest, kind, app, key, expiresAt])
}

extension Session: RowConvertible {
    package static let columns = SessionColumns.table.list

    package init(_ statement: some ResultRow) throws(StoreError) {
        typealias Columns = SessionColumns
        let row = Columns.table.row(statement)
        self.init(
            digest: try row(Columns.digest), kind: try row(Columns.kind), app: AppKey(rawValue: try row(Columns.app)),
            key: try row(Columns.key), expiresAt: try row(Columns.expiresAt))
    }
}

/// All columns but `id`, which the store assigns.
package enum AuditColumns {
    typealias Of<Value> = Column<AuditEntry, Value>

    static let app = Of("app", .natural) { $0.app.rawValue }
    static let time = Of("time", .integer) { $0.time }
    static let actor = Of("actor", .text) { $0.provenance.actor }
    static let address = Of("address", .text) { $0.provenance.address }
    static let action = Of("action", .text) { $0.provenance.action }
    static let target = Of("target", .optionalText) { $0.target }

    package static let table = RowTable<AuditEntry>(
        "audit", key: 6...6, [app, time, actor, address, action, target])
}

extension StoredAuditEntry: RowConvertible {
    package static let columns = "\(AuditColumns.table.list), id"

    package init(_ statement: some ResultRow) throws(StoreError) {
        typealias Columns = AuditColumns
        let row = Columns.table.row(statement)
        let provenance = Provenance(
            actor: try row(Columns.actor), address: try row(Columns.address), action: try row(Columns.action))
        self.init(
            id: try statement.natural(Int32(Columns.table.columns.count), "id"),
            entry: AuditEntry(
                provenance, app: AppKey(rawValue: try row(Columns.app)), target: try row(Columns.target),
                time: try row(Columns.time)))
    }
}
