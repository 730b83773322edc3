import HeraldJSON

/// A resource that a command names by its id, or as narrow lists show it: `dlg_…TYRGWB`.
enum ShortID {
    /// The newest events among which a short id is searched.
    private static let maxEvents = 1_000

    static func delegate(_ text: String, _ call: Invocation) throws(CommandError) -> String {
        try resolve(text, call, "delegates", limit: nil)
    }

    static func event(_ text: String, _ call: Invocation) throws(CommandError) -> String {
        try resolve(text, call, "events", limit: maxEvents)
    }

    static func key(_ text: String, _ call: Invocation) throws(CommandError) -> String {
        try resolve(text, call, "keys", limit: nil)
    }

    static func app(_ text: String, _ call: Invocation) throws(CommandError) -> String {
        try resolve(text, call, "apps", limit: nil)
    }

    private static func resolve(
        _ text: String, _ call: Invocation, _ list: String, limit: Int?
    ) throws(CommandError) -> String {
        guard let dots = text.firstIndex(of: "…") else { return text }
        let (head, tail) = (text[..<dots], text[text.index(after: dots)...])
        var found: Set<String> = []
        try APIClient(call).pages(["v1", list], query: [], limit: limit) { elements in
            for id in elements.map({ $0.text("id") }) where id.hasPrefix(head) && id.hasSuffix(tail) {
                found.insert(id)
            }
        }
        if found.count == 1, let id = found.first { return id }
        let what = found.isEmpty ? "None of the \(list)" : "More than one of the \(list)"
        let among = limit.map { ", among the newest \($0)," } ?? ""
        throw CommandError(
            "\(what)\(among) has the id \(text). `herald \(list) list --output wide` has whole ids.".printable())
    }
}

extension Invocation {
    /// The whole id of `--delegate`.
    func delegate() throws(CommandError) -> String? {
        try self["delegate"].map { text throws(CommandError) in try ShortID.delegate(text, self) }
    }

    /// The position of `--after`, with the whole id of an event.
    func after() throws(CommandError) -> String? {
        try self["after"].map { text throws(CommandError) in try ShortID.event(text, self) }
    }

    /// The parameters of a request from the flags `--delegate` and `--event`, as far as the command has them.
    func resources() throws(CommandError) -> [(String, String?)] {
        let event = try self["event"].map { text throws(CommandError) in try ShortID.event(text, self) }
        return [("delegate", try delegate()), ("event", event)]
    }
}
