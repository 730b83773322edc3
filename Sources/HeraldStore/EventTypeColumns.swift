package import HeraldModel

package enum EventTypeColumns {
    typealias Of<Value> = Column<EventTypeRecord, Value>

    static let app = Of("app", .natural) { $0.app.rawValue }
    static let type = Of("type", .text) { $0.type }
    static let description = Of("description", .text) { $0.description }
    static let example = Of("example", .optionalBlob) { $0.example }
    static let schema = Of("schema", .optionalBlob) { $0.schema }
    static let check = Of("check_mode", .name) { $0.check }
    static let assertsFormats = Of("assert_formats", .flag) { $0.assertsFormats }
    static let createdAt = Of("created_at", .integer) { $0.createdAt }
    static let updatedAt = Of("updated_at", .integer) { $0.updatedAt }
    static let version = Of("version", .natural) { $0.version }

    package static let table = RowTable<EventTypeRecord>(
        "event_types", key: 0...1,
        [app, type, description, example, schema, check, assertsFormats, createdAt, updatedAt, version])
}

extension EventTypeRecord: RowConvertible {
    package static let columns = EventTypeColumns.table.list

    package init(_ statement: some ResultRow) throws(StoreError) {
        typealias Columns = EventTypeColumns
        let row = Columns.table.row(statement)
        self.init(
            app: AppKey(rawValue: try row(Columns.app)), type: try row(Columns.type),
            description: try row(Columns.description), example: try row(Columns.example),
            schema: try row(Columns.schema), check: try row(Columns.check),
            assertsFormats: try row(Columns.assertsFormats), createdAt: try row(Columns.createdAt),
            updatedAt: try row(Columns.updatedAt), version: try row(Columns.version))
    }

    /// Replaces a description that can't be read, as `EventTypeSummary` does at a start: events that need the schema are refused.
    /// - Parameter row: a row of `columns`.
    package init(unreadable row: some ResultRow) {
        self.init(
            app: AppKey(rawValue: row.integer(0)), type: row.text(1), description: "", example: nil,
            schema: row.isNull(4) ? nil : row.bytes(4), check: .enforce, createdAt: row.figure(7),
            updatedAt: row.figure(8), version: row.figure(9))
    }
}

extension EventTypeSummary {
    /// Neither store reads the example and the schema for their lengths.
    package static func columns(_ dialect: SQLDialect) -> String {
        let bytes = dialect == .sqlite ? "length" : "octet_length"
        return """
            app, type, check_mode, schema IS NOT NULL, created_at, updated_at, version,
            \(dialect.byteCount("description")) + coalesce(\(bytes)(example), 0) + coalesce(\(bytes)(schema), 0)
            """
    }

    /// Never fails. An unknown check is recorded. Each event of the type needs the description then, and is refused because that
    /// can't be read.
    /// - Parameter row: a row of `columns`.
    package init(_ row: some ResultRow, _ damaged: DamagedRows) {
        let check = EventTypeRecord.Check(rawValue: row.text(2))
        if check == nil {
            damaged.record(row.name(0...1), in: "event_types", "it holds an unknown check_mode, \(row.text(2))")
        }
        self.init(
            app: AppKey(rawValue: row.integer(0)), type: row.text(1), check: check ?? .enforce, hasSchema: row.flag(3),
            createdAt: row.figure(4), updatedAt: row.figure(5), version: row.figure(6),
            bytes: Int(clamping: row.integer(7)))
    }
}
