import HeraldCore
import HeraldCrypto
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Stream tokens: a URL of one stream, for clients that can't send a key.
extension StreamEndpoints {
    private enum Kind: String, CaseIterable {
        case events, attempts

        /// The parameters of the stream's filter.
        var parameters: [String] {
            switch self {
            case .events: ["events", "subjects"]
            case .attempts: ["delegate", "event", "outcome"]
            }
        }
    }

    private static let seconds: ClosedRange<Int64> = 10...3_600
    private static let standardSeconds = 300
    /// So that the URL fits into a header section.
    private static let maxQueryBytes = 4_096

    func makeToken(_ call: Call) throws(Problem) {
        let document = try call.optionalJSON()
        var reader = FieldReader()
        let kind = document["stream"].map { reader.choice($0, "/stream", default: Kind.events) } ?? .events
        reader.wrong(document.errors(unlessObjectOf: ["stream", "expires_in"] + kind.parameters))
        let seconds = document["expires_in"].map { reader.integer($0, "/expires_in", Self.seconds) }
        var filter: [String] = []
        for name in kind.parameters {
            guard let value = document[name], let text = reader.text(value, "/" + name) else { continue }
            filter.append(name + "=" + URLPart.encoded(text))
        }
        try reader.check()
        let query = filter.joined(separator: "&")
        guard query.utf8.count <= Self.maxQueryBytes else {
            throw .invalid([FieldError("", "must have at most \(Self.maxQueryBytes) bytes in its filter, encoded")])
        }
        try check(kind, query, call)
        // At most until the key of the request expires.
        let end = min(
            hub.clock.wall() + Int64(seconds ?? Self.standardSeconds) * 1000, call.principal.expiresAt ?? .max)
        let target: String
        do throws(CryptoError) {
            target = try access.newStreamTarget(
                "/v1/\(kind.rawValue)/stream", query: query, for: call.principal, until: end)
        } catch {
            throw .unavailable(.busy, "The token could not be signed. Nothing was done; try again in a second.")
        }
        call.send(status: 201) {
            $0.member("url", call.publicURL.base + target)
            $0.member("expires_at", .timestamp(end))
        }
    }

    /// Checks the filter as the stream does. The parameters are members of the body here.
    private func check(_ kind: Kind, _ query: String, _ call: Call) throws(Problem) {
        do throws(Problem) {
            let query = try Query(query, known: kind.parameters)
            switch kind {
            case .events: _ = try interest(query, call.app)
            case .attempts: _ = try attemptInterest(query, call.app)
            }
        } catch {
            var problem = error
            problem.items = error.items.map { item in
                guard case .parameter(let name) = item.place else { return item }
                return .init(place: .pointer("/" + name), detail: item.detail)
            }
            throw problem
        }
    }
}
