import Herald
import JSON

/// Reads what a client says of an app: `{"name", "max_delegates", "events_per_second",
/// "max_stored_bytes"}`.
struct AppInput {
    static let fields = ["name", "max_delegates", "events_per_second", "max_stored_bytes"]

    private var reader = FieldReader()

    /// - Throws: 422 with every wrong field.
    static func new(_ document: JSONDocument) throws(Problem) -> App.Settings {
        var input = AppInput()
        input.reader.wrong(document.errors(unlessObjectOf: fields))
        if document["name"] == nil { input.reader.wrong("/name", "is required") }
        var settings = App.Settings(name: "")
        for (key, value) in document.root.members { input.read(key, value, into: &settings) }
        try input.reader.check()
        return settings
    }

    /// A merge patch (RFC 7396), to be made to whatever the app is when it is made.
    /// - Throws: 422 with every wrong field.
    static func patch(_ document: JSONDocument) throws(Problem) -> @Sendable (inout App.Settings) -> Void {
        var input = AppInput()
        input.reader.wrong(document.errors(unlessObjectOf: fields))
        var read = App.Settings(name: "")
        for (key, value) in document.root.members { input.read(key, value, into: &read) }
        try input.reader.check()
        let given = Set(document.root.members.map(\.key))
        let patch = read
        return { settings in
            if given.contains("name") { settings.name = patch.name }
            if given.contains("max_delegates") { settings.maxDelegates = patch.maxDelegates }
            if given.contains("events_per_second") { settings.eventsPerSecond = patch.eventsPerSecond }
            if given.contains("max_stored_bytes") { settings.maxStoredBytes = patch.maxStoredBytes }
        }
    }

    private mutating func read(_ key: String, _ value: JSONValue, into settings: inout App.Settings) {
        switch key {
        case "name": settings.name = name(value)
        case "max_delegates":
            settings.maxDelegates = value.isNull ? nil : reader.integer(value, "/max_delegates", 0...1_000_000)
        case "events_per_second":
            settings.eventsPerSecond = value.isNull ? nil : reader.integer(value, "/events_per_second", 1...1_000_000)
        case "max_stored_bytes":
            settings.maxStoredBytes =
                value.isNull ? nil : Int64(reader.integer(value, "/max_stored_bytes", 0...1_000_000_000_000_000))
        default: break
        }
    }

    private mutating func name(_ value: JSONValue) -> String {
        guard let name = value.string, (1...64).contains(name.utf8.count), !name.hasPrefix("app_"),
            name.utf8.allSatisfy({ byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            })
        else {
            reader.wrong("/name", "must be 1 to 64 of a-z, 0-9, _ and -, and not begin with app_")
            return ""
        }
        return name
    }
}
