import HeraldJSON
import HeraldModel

/// Parses the settings of an app: `{"name", "max_delegates", "events_per_second", "max_stored_bytes", "portal"}`.
struct AppInput {
    static let fields = ["name", "max_delegates", "events_per_second", "max_stored_bytes", "portal"]

    private var reader: FieldReader
    private var portal: @Sendable (inout Portal) -> Void = { _ in }

    /// - Throws: 422 with all invalid fields.
    static func new(_ document: JSONDocument) throws(Problem) -> App.Settings {
        var input = AppInput(reader: FieldReader(document, fields: fields))
        if document["name"] == nil { input.reader.wrong("/name", "is required") }
        var settings = App.Settings(name: "")
        for (key, value) in document.root.members { input.read(key, value, into: &settings) }
        input.portal(&settings.portal)
        input.reader.add(settings.problems)
        try input.reader.check()
        return settings
    }

    /// A merge patch (RFC 7396), applied to the current settings in the transaction.
    /// - Throws: 422 with all invalid fields.
    static func patch(_ document: JSONDocument) throws(Problem) -> @Sendable (inout App.Settings) -> Void {
        var input = AppInput(reader: FieldReader(document, fields: fields))
        var read = App.Settings(name: "")
        for (key, value) in document.root.members { input.read(key, value, into: &read) }
        let given = Set(document.root.members.map(\.key))
        input.reader.add(read.problems.filter { given.contains(String($0.pointer.dropFirst())) })
        try input.reader.check()
        // The portal is not read again: this runs on the writer's thread, more than once, and its picture takes time.
        let portal = input.portal
        return { settings in
            var input = AppInput(reader: FieldReader())
            for (key, value) in document.root.members where key != "portal" { input.read(key, value, into: &settings) }
            portal(&settings.portal)
        }
    }

    private mutating func read(_ key: String, _ value: JSONValue, into settings: inout App.Settings) {
        switch key {
        case "name": if let name = reader.text(value, "/name") { settings.name = name }
        case "max_delegates": settings.maxDelegates = reader.integer(value, "/max_delegates")
        case "events_per_second": settings.eventsPerSecond = reader.integer(value, "/events_per_second")
        case "max_stored_bytes": settings.maxStoredBytes = reader.integer(value, "/max_stored_bytes").map(Int64.init)
        case "portal": portal = PortalInput.read(value, &reader)
        default: break
        }
    }
}
