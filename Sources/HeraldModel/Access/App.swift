import HeraldRuntime

/// A tenant. Everything belongs to exactly one app, and apps are isolated from each other. `default` always exists.
package struct App: Equatable, Sendable {
    /// The settings that an operator can change.
    package struct Settings: Equatable, Sendable {
        /// 1–256 of `[A-Za-z0-9_.-]`, which the uids of Svix's applications have; unique.
        package var name: String
        /// The maximum number of webhooks; `nil` for no limit.
        package var maxDelegates: Int?
        /// The maximum number of events per second, and at once; `nil` for no limit.
        package var eventsPerSecond: Int?
        /// The maximum number of bytes of its events (`Event.storedBytes`); `nil` for no limit.
        package var maxStoredBytes: Int64?
        package var portal: Portal

        package init(
            name: String, maxDelegates: Int? = nil, eventsPerSecond: Int? = nil, maxStoredBytes: Int64? = nil,
            portal: Portal = Portal()
        ) {
            self.name = name
            self.maxDelegates = maxDelegates
            self.eventsPerSecond = eventsPerSecond
            self.maxStoredBytes = maxStoredBytes
            self.portal = portal
        }
    }

    /// Never reused, not even after the app is deleted.
    package let key: AppKey
    /// `app_` and a ULID.
    package let id: String
    package let settings: Settings
    /// Milliseconds since 1970 UTC.
    package let createdAt: Int64
    package let updatedAt: Int64
    /// The base of the `ETag`: it counts up from the time of creation, so that another app of the name has no version of before.
    package let version: Int64

    package init(
        key: AppKey, id: String, settings: Settings, createdAt: Int64, updatedAt: Int64, version: Int64
    ) {
        self.key = key
        self.id = id
        self.settings = settings
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.version = version
    }

    /// The app that always exists.
    package static let `default` = App(
        key: .default, id: "app_00000000000000000000000000", settings: Settings(name: "default"), createdAt: 0,
        updatedAt: 0, version: 1)
}

extension App.Settings {
    package static let maxDelegatesRange: ClosedRange<Int> = 0...1_000_000
    package static let eventsPerSecondRange: ClosedRange<Int> = 1...1_000_000
    package static let maxStoredBytesRange: ClosedRange<Int64> = 0...1_000_000_000_000_000

    /// All errors, with the field names of the HTTP API.
    package var problems: [FieldError] {
        var errors: [FieldError] = []
        func check<Number: BinaryInteger>(_ number: Number?, _ range: ClosedRange<Number>, _ pointer: String) {
            if let number, !range.contains(number) { errors.append(.integer(pointer, range)) }
        }
        if !Self.isName(name) {
            errors.append(
                FieldError("/name", "must be 1 to 256 of A-Z, a-z, 0-9, _, - and ., and not begin with app_ or a dot"))
        }
        check(maxDelegates, Self.maxDelegatesRange, "/max_delegates")
        check(eventsPerSecond, Self.eventsPerSecondRange, "/events_per_second")
        check(maxStoredBytes, Self.maxStoredBytesRange, "/max_stored_bytes")
        return errors
    }

    /// A name is a segment of paths: `.` and `..` would be removed from them.
    package static func isName(_ name: String) -> Bool {
        name.isPlainName(limit: 256) && !name.hasPrefix("app_") && !name.hasPrefix(".")
    }

    /// The text in the characters of a name, 64 at most. It may be empty, or begin with `app_`.
    package static func slug(_ text: String) -> String {
        let characters = text.lowercased().map { character in
            character.isASCII && (character.isLetter || character.isNumber || character == "_") ? character : "-"
        }
        return String(String(characters).split(separator: "-").joined(separator: "-").prefix(64))
    }
}
