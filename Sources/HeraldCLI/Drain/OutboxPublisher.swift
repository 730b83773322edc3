import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldStore

/// Publishes entries of an outbox in requests, and finds those that Herald refuses. One thread.
struct OutboxPublisher {
    enum Outcome {
        /// All entries but those were published.
        /// - Parameter refused: by the index of the entry, ascending.
        case done(refused: [Int: Refusal])
        /// Herald is away or busy. Some entries may have been published.
        case away(reason: String, seconds: Int?)
    }

    private let client: APIClient
    /// The limit of a request. Halved when the server refuses the size.
    private var maxBytes = PublicationLimits.defaultBytes
    /// The smallest limit that a server of Herald has. A proxy may have a smaller one.
    private static let leastBytes = 1024
    private(set) var published = 0
    /// The number of published events that were stored before.
    private(set) var duplicates = 0

    init(_ client: APIClient) { self.client = client }

    private struct Part {
        let index: Int
        let id: String?
        let json: [UInt8]
    }

    /// - Parameter stopsAtRefused: the entries after the first refused one need not be published.
    mutating func publish(_ entries: [OutboxEntry], stopsAtRefused: Bool) throws(CommandError) -> Outcome {
        var refused: [Int: Refusal] = [:]
        var parts: [Part] = []
        for (index, entry) in entries.enumerated() {
            let event = OutboxEvent(entry)
            switch event.form {
            case .event(let json): parts.append(Part(index: index, id: event.id, json: json))
            case .invalid(let reason): refused[index] = Refusal(id: event.id, reason: reason)
            }
        }
        var left = parts[...]
        var maxCount = PublicationLimits.maxEvents
        while true {
            if stopsAtRefused, let first = refused.keys.min() { left = left.prefix { $0.index < first } }
            guard !left.isEmpty else { return .done(refused: refused) }
            let batch = Array(first(of: left, maxCount))
            let answer: HTTPResponse
            let body = Array(batch.map(\.json).joined(separator: [UInt8(ascii: ",")]))
            do throws(HTTPClientError) {
                answer = try client.perform(
                    client.request("POST", ["v1", "events"], body: [UInt8(ascii: "[")] + body + [UInt8(ascii: "]")]))
            } catch {
                if case .url = error { throw client.unreachable(error) }
                return .away(reason: client.unreachable(error).description, seconds: nil)
            }
            let problem = Problem(answer, to: client)
            switch answer.status {
            case 200..<300:
                let differing = try differing(answer, batch)
                for (index, refusal) in differing { refused[index] = refusal }
                published += batch.count - differing.count
                left = left.dropFirst(batch.count)
                maxCount = PublicationLimits.maxEvents
            case 413 where batch.count > 1 && maxBytes > Self.leastBytes:
                maxBytes = max(Self.leastBytes, body.count / 2)
            // What another server refuses says nothing about the events.
            case _ where problem.name == nil && [400, 422].contains(answer.status): throw problem.error
            case 400, 413, 422:
                let found = Self.refused(problem, batch)
                if found.isEmpty, batch.count > 1 {
                    // The response does not name the event.
                    maxCount = batch.count / 2
                    continue
                }
                for (part, reason) in found { refused[part.index] = Refusal(id: part.id, reason: reason) }
                if found.isEmpty, let part = batch.first {
                    refused[part.index] = Refusal(id: part.id, reason: problem.words)
                }
                left = left.filter { refused[$0.index] == nil }[...]
            case _ where problem.isTemporary || answer.status >= 500:
                return .away(reason: problem.words, seconds: problem.retryAfter)
            default: throw problem.error
            }
        }
    }

    private func first(of parts: ArraySlice<Part>, _ maxCount: Int) -> ArraySlice<Part> {
        var bytes = 2
        return parts.prefix(maxCount).prefix { part in
            bytes += part.json.count + 1
            return bytes <= maxBytes || part.index == parts.first?.index
        }
    }

    /// The events that a problem names, with the reasons.
    private static func refused(_ problem: Problem, _ batch: [Part]) -> [(part: Part, reason: String)] {
        var reasons: [Int: [String]] = [:]
        for (pointer, detail) in problem.errors {
            guard let event = Problem.event(at: pointer, of: batch.count) else { continue }
            reasons[event.index, default: []].append((event.rest.map { "/\($0) " } ?? "") + detail)
        }
        return reasons.sorted { $0.key < $1.key }.map { (batch[$0.key], $0.value.joined(separator: "; ")) }
    }

    /// Counts duplicates, without those that it returns.
    /// - Returns: those whose id is in the log with other values: another row has the id.
    private mutating func differing(_ answer: HTTPResponse, _ batch: [Part]) throws(CommandError) -> [Int: Refusal] {
        var found: [Int: Refusal] = [:]
        let json = try client.document(answer.body)
        guard let data = json["data"], data.count == batch.count else {
            throw client.notHerald("its response has not one entry for each event")
        }
        for (part, event) in zip(batch, data.elements) {
            let pointers = event.list("differs").compactMap(\.string)
            guard !pointers.isEmpty else {
                if event["duplicate"]?.bool == true { duplicates += 1 }
                continue
            }
            found[part.index] = Refusal(
                id: part.id,
                reason: "an event with its id was published with other values: \(pointers.joined(separator: ", "))")
        }
        return found
    }
}
