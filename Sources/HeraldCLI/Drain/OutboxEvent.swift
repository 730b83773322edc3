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
        case .row(let texts): (id, form) = Self.event(row: texts)
        case .message(let id, let text): (self.id, form) = Self.event(message: text, id: id)
        }
    }

    private static func event(row texts: [OutboxPart: [UInt8]]) -> (String?, Form) {
        func text(_ part: OutboxPart) -> String? { texts[part].map { String(decoding: $0, as: UTF8.self) } }
        guard let id = text(.id) else { return (nil, .invalid("its id is NULL")) }
        guard let type = text(.type) else { return (id, .invalid("its type is NULL")) }
        if let data = texts[.data], let problem = problem(with: data) {
            return (id, .invalid("its data is not JSON: \(problem)"))
        }
        let event = JSONWriter.document {
            $0.member("id", id)
            $0.member("type", type)
            $0.member("subject", ifPresent: text(.subject))
            $0.member("time", ifPresent: text(.time))
            $0.member("deliver_at", ifPresent: text(.deliverAt))
            $0.member("data", ifPresent: texts[.data].map { RawJSON($0[...]) })
        }
        return (id, .event(event))
    }

    private static func event(message text: [UInt8], id: String) -> (String?, Form) {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(parsing: text, limits: limits)
        } catch {
            return (id, .invalid("it is not JSON: \(error)"))
        }
        guard document.root.kind == .object, let start = text.firstIndex(of: UInt8(ascii: "{")) else {
            return (id, .invalid("it is not a JSON object"))
        }
        if let own = document["id"], !own.isNull { return (own.string ?? id, .event(text)) }
        if document["id"] != nil {
            // A member that is null is replaced, as it would be there twice.
            let event = JSONWriter.document { object in
                object.member("id", id)
                for (name, value) in document.root.members where name != "id" { object.member(name, value) }
            }
            return (id, .event(event))
        }
        var rest = text[(start + 1)...]
        if document.root.count > 0 { rest = [UInt8(ascii: ",")] + rest }
        return (id, .event(Array("{\"id\":\"\(id)\"".utf8) + rest))
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
