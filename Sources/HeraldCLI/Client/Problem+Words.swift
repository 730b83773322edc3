import HeraldModel
import HeraldRuntime

// Problems in terms of the command line: flags and arguments instead of fields, commands instead of requests.

extension Problem {
    var words: String {
        switch name {
        case nil where location != nil:
            "\(server) redirects to \(location ?? ""). Commands follow no redirects: name that server with --server."
        case nil:
            "\(server) failed, or is not a Herald server: it responded with status \(status)."
        case "validation" where !errors.isEmpty: validation
        case "unauthorized":
            (hasKey
                ? "\(server) refuses the access key: it is unknown, has expired or was revoked. Give another one"
                : "\(server) needs an access key. Give one") + " with --key-file FILE, or in HERALD_KEY."
        case "conflict":
            "\(delegate) sends the same requests to this URL for some of these events. `herald delegates change \(delegate)` "
                + "changes it, `herald delegates remove \(delegate)` removes it."
        case "no-lease":
            "There is no lease to renew. `herald delegates change \(delegate) --lease SECONDS` gives one."
        case "unverified":
            "The receiver has not agreed to the callbacks. `herald delegates show \(delegate)` shows the status."
        case "no-admin-key", "last-admin-key":
            "One key must have the scope admin. `herald keys create NAME --scope admin` makes one."
        case "too-much-stored", "quota-exceeded":
            "The app has reached its quota of stored bytes. Nothing was published. There is room again when its oldest events have left the "
                + "log, or after `herald apps change APP --max-stored-bytes NUMBER`."
        case "too-many-requests": "The access key has reached its limit of requests per second. Nothing was done."
        case "budget-exceeded":
            "This needs more work than the server does for one command. Nothing was done. Send fewer events at once, less "
                + "data, or a simpler schema or filter."
        case "malformed-json": "The server cannot read the JSON\(reason)."
        case "body-too-large": "This is more than \(server) accepts at once\(limit)."
        case "malformed-request":
            "An argument cannot be sent: an id or a name must be text without a slash, and not . or .."
        case "misdirected-request":
            "\(server) was reached, but does not serve this host name: `herald serve --allowed-hosts` allows names."
        case "not-found" where detail?.holds("GET /") == true, "bad-request", "method-not-allowed", "method-unknown",
            "not-acceptable", "unsupported-media-type", "precondition-failed", "idempotency-key-reused",
            "expectation-failed", "header-fields-too-large", "foreign-origin":
            "\(server) does not understand this command of herald \(heraldVersion): it may be of another version."
        default: title + (detail.map { ": " + $0 } ?? ".")
        }
    }

    /// One sentence for each field. Fields of which one is needed have the same sentence.
    private var validation: String {
        var sentences: [String] = []
        var rest = errors[...]
        while let first = rest.first {
            let equal = rest.prefix { $0.detail == first.detail && first.detail.hasPrefix("is needed:") }
            let subjects = equal.isEmpty ? [subject(first.place)] : equal.map { subject($0.place) }
            let list = [subjects.dropLast().joined(separator: ", "), subjects.last ?? ""].filter { !$0.isEmpty }
            sentences.append("\(list.joined(separator: " or ")) \(first.detail).")
            rest = rest.dropFirst(subjects.count)
        }
        return sentences.count == 1
            ? sentences[0] : "Nothing was done:\n" + sentences.map { "  " + $0 }.joined(separator: "\n")
    }

    /// The flag or the argument of a field or parameter.
    private func subject(_ place: String) -> String {
        guard !place.isEmpty else { return "What was given" }
        guard let member = place.split(separator: "/").first.map(String.init) else { return place }
        // A flag for a part of a member, such as /tls/ca.
        if let flag = command?.flags.first(where: { flag in flag.member.map { "/" + $0 == place } ?? false }) {
            return "--\(flag.name)"
        }
        let inside = place.hasPrefix("/") ? place.dropFirst(member.utf8.count + 1) : ""
        let name =
            command?.flags.first { $0.stands(for: member) }.map { "--\($0.name)" }
            ?? command?.arguments.first { $0.name.lowercased() == member }?.name ?? member
        return inside.isEmpty ? name : "\(name), at \(inside),"
    }

    private var delegate: String {
        let texts = errors.map(\.detail) + [detail ?? ""]
        let words = texts.flatMap { $0.split { !$0.isLetter && !$0.isNumber && $0 != "_" } }
        return words.first { $0.hasPrefix("dlg_") }.map(String.init) ?? "ID"
    }

    /// The part of the detail after its first colon.
    private var reason: String {
        guard let detail, let colon = detail.place(of: ": ") else { return "" }
        let rest = detail[colon.upperBound...]
        return ": " + (rest.hasSuffix(".") ? rest.dropLast() : rest)
    }

    private var limit: String {
        (detail ?? "").split { !$0.isNumber }.first.map { ": \($0) bytes" } ?? ""
    }
}

extension Command.Flag {
    /// Whether its value becomes this member of a request.
    fileprivate func stands(for member: String) -> Bool {
        let plain = name.replaced("-", by: "_")
        return member == self.member ?? plain || member == plain + "s" || member == plain + "_seconds"
    }
}
