import HeraldJSON

/// Resources that a command names by their ids, or as narrow lists show them: `dlg_…TYRGWB`.
enum ShortID: String {
    case delegates, events, keys, apps

    /// The newest events among which a short id is searched.
    private static let maxEvents = 1_000

    /// The whole id.
    func resolve(_ text: String, _ call: Invocation) throws(CommandError) -> String {
        guard let dots = text.firstIndex(of: "…") else { return text }
        let (head, tail) = (text[..<dots], text[text.index(after: dots)...])
        let (list, limit) = (rawValue, self == .events ? Self.maxEvents : nil)
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
    /// The whole id in a flag; a text that is no short id stays.
    func id(_ flag: String, of resources: ShortID) throws(CommandError) -> String? {
        try self[flag].map { text throws(CommandError) in try resources.resolve(text, self) }
    }

    /// The parameters of a request from the flags `--delegate` and `--event`, as far as the command has them.
    func resources() throws(CommandError) -> [(String, String?)] {
        let event = try id("event", of: .events)
        return [("delegate", try id("delegate", of: .delegates)), ("event", event)]
    }
}
