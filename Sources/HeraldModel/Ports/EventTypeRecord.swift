/// The description of an event type, as stored.
package struct EventTypeRecord: Equatable, Sendable {
    /// The treatment of an event whose data does not match the schema.
    package enum Check: String, Sendable, CaseIterable {
        case off
        /// It is accepted; the response and a metric report it.
        case report
        /// It is refused.
        case enforce
    }

    package let app: AppKey
    package let type: String
    package let description: String
    /// A JSON value; `nil` if there is none.
    package let example: [UInt8]?
    /// A JSON Schema for the data; `nil` if there is none.
    package let schema: [UInt8]?
    package let check: Check
    /// Whether the check includes `format` of the schema.
    package let assertsFormats: Bool
    /// Milliseconds since 1970 UTC.
    package let createdAt: Int64
    package let updatedAt: Int64
    /// The base of the `ETag`: it counts up from the time of creation, so that a type which is described again has no version of
    /// before.
    package let version: Int64

    package init(
        app: AppKey, type: String, description: String, example: [UInt8]?, schema: [UInt8]?, check: Check,
        assertsFormats: Bool = false, createdAt: Int64, updatedAt: Int64, version: Int64
    ) {
        self.app = app
        self.type = type
        self.description = description
        self.example = example
        self.schema = schema
        self.check = check
        self.assertsFormats = assertsFormats
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.version = version
    }
}

/// The part of an event type's description that is kept in memory. The store has the rest.
package struct EventTypeSummary: Equatable, Sendable {
    package let app: AppKey
    package let type: String
    package let check: EventTypeRecord.Check
    package let hasSchema: Bool
    /// Milliseconds since 1970 UTC.
    package let createdAt: Int64
    package let updatedAt: Int64
    package let version: Int64
    /// The bytes of the stored description, example and schema.
    package let bytes: Int

    package init(
        app: AppKey, type: String, check: EventTypeRecord.Check, hasSchema: Bool, createdAt: Int64, updatedAt: Int64,
        version: Int64, bytes: Int
    ) {
        self.app = app
        self.type = type
        self.check = check
        self.hasSchema = hasSchema
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.version = version
        self.bytes = bytes
    }

    package init(_ record: EventTypeRecord) {
        self.init(
            app: record.app, type: record.type, check: record.check, hasSchema: record.schema != nil,
            createdAt: record.createdAt, updatedAt: record.updatedAt, version: record.version,
            bytes: record.description.utf8.count + (record.example?.count ?? 0) + (record.schema?.count ?? 0))
    }

    /// Whether this is the summary of the same version, also of a type that was deleted and described again.
    package func isSameVersion(as other: EventTypeSummary) -> Bool {
        version == other.version && createdAt == other.createdAt && updatedAt == other.updatedAt
    }
}
