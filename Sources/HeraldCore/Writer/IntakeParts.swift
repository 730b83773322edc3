import HeraldModel

/// How many events and commands, and bytes of the events, of each app wait for the writer.
///
/// Apps whose keys end with the same bits are counted together, so that a request costs two additions and no search.
struct IntakeParts {
    struct Part {
        var events = 0
        var bytes = 0

        static func += (part: inout Part, more: (events: Int, bytes: Int)) {
            part.events += more.events
            part.bytes += more.bytes
        }

        static func -= (part: inout Part, less: (events: Int, bytes: Int)) { part += (-less.events, -less.bytes) }
    }

    private var parts = [Part](repeating: Part(), count: 64)

    subscript(app: AppKey) -> Part {
        get { parts[Self.index(app)] }
        _modify { yield &parts[Self.index(app)] }
    }

    private static func index(_ app: AppKey) -> Int { Int(truncatingIfNeeded: app.rawValue & 63) }
}
