/// The description of an event type in the catalogue.
package struct EventTypeRecord: Equatable, Sendable {
    /// What happens to an event whose data does not match the schema.
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
    /// The number of changes; the base of the `ETag`.
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
