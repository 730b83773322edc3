import HeraldJSON
import HeraldStore

/// An entry of an outbox as an event of the API, or the reason why it is none.
struct OutboxEvent {
    enum Form {
        case event([UInt8])
        case invalid(String)
    }

    /// `nil` if the row has none.
    let id: String?
    let form: Form

    /// Enough for the largest event that a server can be configured to accept. The server has limits of its own.
    private static let limits = JSONLimits(depth: 80, values: 200_000)

    init(_ entry: OutboxEntry) {
        switch entry {
        case .row(let texts): self.init(row: texts)
        case .message(let id, let text): self.init(message: text, id: id)
        }
    }

    private init(row texts: [OutboxPart: [UInt8]]) {
        func text(_ part: OutboxPart) -> String? { texts[part].map { String(decoding: $0, as: UTF8.self) } }
        id = text(.id)
        guard let id, let type = text(.type) else {
            form = .invalid("its \(id == nil ? "id" : "type") is NULL")
            return
        }
        if let data = texts[.data], let problem = Self.problem(with: data) {
            form = .invalid("its data is not JSON: \(problem)")
            return
        }
        let event = JSONWriter.document {
            $0.member("id", id)
            $0.member("type", type)
            $0.member("subject", ifPresent: text(.subject))
            $0.member("time", ifPresent: text(.time))
            $0.member("deliver_at", ifPresent: text(.deliverAt))
            $0.member("data", ifPresent: texts[.data].map { RawJSON($0[...]) })
        }
        form = .event(event)
    }

    private init(message text: [UInt8], id: String) {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(parsing: text, limits: Self.limits)
        } catch {
            self.id = id
            form = .invalid("it is not JSON: \(error)")
            return
        }
        guard document.root.kind == .object, let start = text.firstIndex(of: UInt8(ascii: "{")) else {
            self.id = id
            form = .invalid("it is not a JSON object")
            return
        }
        if let own = document["id"], !own.isNull {
            self.id = own.string ?? id
            form = .event(text)
            return
        }
        self.id = id
        var rest = text[(start + 1)...]
        if document["id"] != nil {
            // A member that is null is replaced, as it would be there twice.
            let event = JSONWriter.document { object in
                object.member("id", id)
                for (name, value) in document.root.members where name != "id" { object.member(name, value) }
            }
            form = .event(event)
            return
        }
        if document.root.count > 0 { rest = [UInt8(ascii: ",")] + rest }
        form = .event(Array("{\"id\":\"\(id)\"".utf8) + rest)
    }

    private static func problem(with data: [UInt8]) -> String? {
        do throws(JSONError) {
            _ = try JSONDocument(parsing: data, limits: limits)
            return nil
        } catch {
            return "\(error)"
        }
    }
}
