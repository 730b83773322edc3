import HeraldCore
import HeraldCrypto
import HeraldHTTP
import HeraldModel
import HeraldRuntime

/// A delegate in a list.
enum DelegateEntry {
    case webhook(WebhookDelegate)
    case inMemory(InMemoryDelegate)
    case eventStream(EventStream)
    case attemptStream(AttemptStream)

    var id: String {
        switch self {
        case .webhook(let delegate): delegate.id
        case .inMemory(let delegate): delegate.id
        case .eventStream(let stream): stream.id
        case .attemptStream(let stream): stream.id
        }
    }

    /// As the dashboard shows it: the description, or else the URL.
    fileprivate var name: String {
        switch self {
        case .webhook(let delegate):
            delegate.settings.shownName ?? delegate.id
        case .inMemory(let delegate): delegate.description
        case .eventStream, .attemptStream: ""
        }
    }
}

/// The filter of a list of delegates.
struct DelegateFilter {
    let kind: String?
    /// Empty: any.
    let statuses: [WebhookStatus]
    let event: String?
    /// In lower case.
    let search: String?

    private static let maxSearch = 200

    init(_ query: Query) throws(Problem) {
        kind = query["kind"]
        event = query["event"]
        search = query["search"]?.lowercased()
        statuses = try query.list("status", "must be " + WebhookStatus.words + ", or several, with commas") {
            WebhookStatus(rawValue: $0)
        }
        if let kind, !["webhook", "pull", "stream", "in_memory"].contains(kind) {
            throw .invalidParameter("kind", "must be webhook, pull, stream or in_memory")
        }
        if let event, !EventType.isValid(event) {
            throw .invalidParameter("event", "must be an event type, such as auth.logged_in")
        }
        if let search, search.isEmpty || search.utf8.count > Self.maxSearch {
            throw .invalidParameter("search", "must have 1 to \(Self.maxSearch) bytes")
        }
    }

    func accepts(_ delegate: WebhookDelegate, status shown: WebhookStatus) -> Bool {
        guard kind.map({ $0 == delegate.settings.kind.rawValue }) ?? true else { return false }
        guard statuses.isEmpty || statuses.contains(shown) else { return false }
        guard event.map(delegate.selection.includes(type:)) ?? true else { return false }
        let settings = delegate.settings
        return contains([delegate.id, settings.url, settings.description])
            || contains(settings.events.map(\.text)) || contains(settings.metadata.flatMap { [$0.key, $0.value] })
    }

    /// Whether webhooks or pull delegates may be accepted.
    var includesRegistered: Bool { kind.map { DelegateKind(rawValue: $0) != nil } ?? true }

    func accepts(_ delegate: InMemoryDelegate) -> Bool { contains([delegate.id, delegate.description]) }

    func accepts(_ stream: EventStream) -> Bool {
        (event.map(stream.interest.includes(type:)) ?? true) && contains([stream.id])
    }

    private func contains(_ texts: [String]) -> Bool {
        guard let search else { return true }
        return texts.contains { $0.lowercased().holds(search) }
    }

    func includes(_ kind: String) -> Bool { self.kind == nil || self.kind == kind }

    /// Delegates other than webhooks are always active.
    var acceptsActive: Bool { statuses.isEmpty || statuses.contains(.active) }
}

/// The order of a list of delegates: by a key, and within the same key from newest to oldest.
///
/// Keys change while pages are read, so a cursor has the key of the last entry. A delegate whose key changes in between
/// may be missing or appear twice.
struct DelegateOrder {
    private enum Key: String, CaseIterable {
        case newest, status, name, lag
    }

    private let key: Key
    /// The last entry of the previous page.
    let last: (key: String, id: String)?

    init(_ query: Query) throws(Problem) {
        let words = Key.allCases.map(\.rawValue).joined(separator: " or ")
        key = try query.value("sort", "must be " + words) { Key(rawValue: $0) } ?? .newest
        guard key != .newest, let cursor = query["cursor"] else {
            last = try query.cursor(ofIDs: "dlg_").map { ("", $0) }
            return
        }
        let parts = cursor.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == key.rawValue, parts[2].hasPrefix("dlg_"), parts[2].utf8.count == 30,
            let bytes = Base64.decodeURLSafe(String(parts[1])), let text = String(validating: bytes, as: UTF8.self)
        else { throw .noCursor }
        last = (text, String(parts[2]))
    }

    var isNewestFirst: Bool { key == .newest }

    func cursor(of entry: DelegateEntry, _ hub: Hub) -> String {
        if isNewestFirst { return entry.id }
        return "\(key.rawValue).\(Base64.encodeURLSafe(Array(key(of: entry, hub).utf8))).\(entry.id)"
    }

    /// The first entries after the last one of the previous page.
    func page(of entries: [DelegateEntry], limit: Int, _ hub: Hub) -> [DelegateEntry] {
        let keyed = entries.map { (key: key(of: $0, hub), entry: $0) }
        let rest = keyed.filter { one in
            last.map { one.key != $0.key ? one.key > $0.key : one.entry.id < $0.id } ?? true
        }
        return rest.sorted { $0.key != $1.key ? $0.key < $1.key : $0.entry.id > $1.entry.id }.prefix(limit).map(\.entry)
    }

    /// Sorts like the list.
    private func key(of entry: DelegateEntry, _ hub: Hub) -> String {
        switch (key, entry) {
        case (.newest, _): return ""
        case (.name, _): return entry.name.lowercased()
        case (.status, .webhook(let delegate)):
            let status = delegate.shownStatus(hub.lane(of: delegate))
            return String(Self.urgency.firstIndex(of: status) ?? Self.urgency.count)
        case (.status, _): return String(Self.urgency.count)
        case (.lag, .webhook(let delegate)):
            // An estimate: an exact number for each delegate would read the log.
            let lag = Backlog(unseen: hub.lane(of: delegate), of: delegate.app, in: hub).events
            let digits = String(Int64.max - lag)
            return String(repeating: "0", count: max(0, 19 - digits.count)) + digits
        case (.lag, _): return String(Int64.max)
        }
    }

    /// The first needs attention first.
    private static let urgency = [.failing] + WebhookStatus.allCases.reversed().filter { $0 != .failing }
}
