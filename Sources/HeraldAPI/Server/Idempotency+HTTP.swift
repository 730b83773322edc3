import HeraldCore
import HeraldCrypto
import HeraldHTTP
import HeraldModel

extension Call {
    /// The idempotency of a POST with `Idempotency-Key`; `nil` for other requests.
    /// - Parameters:
    ///   - body: what identifies the request; `nil` for its body.
    ///   - hasSecret: the response contains a secret, so that it is never returned to another key of the app: for another
    ///     client it is another request.
    ///   - answer: the response to store for an outcome.
    func idempotency<Outcome>(
        of body: [UInt8]? = nil, hasSecret: Bool = false, _ answer: @escaping @Sendable (Outcome) -> Response?
    ) throws(Problem) -> Idempotency<Outcome>? {
        guard request.head.method == .post, let key = try idempotencyKey() else { return nil }
        var head = request.head.method.rawValue + " " + request.head.path + "?" + (request.head.query ?? "") + "\n"
        if hasSecret { head += principal.owner + "\n" }
        let fingerprint = SHA256.hash(Array(head.utf8) + (body ?? request.body))
        return Idempotency(key: key, fingerprint: fingerprint) { outcome in
            // A refusal changed nothing: the request may be repeated when its cause is gone.
            answer(outcome).flatMap {
                (200...299).contains($0.status) ? StoredAnswer(fingerprint: fingerprint, $0) : nil
            }
        }
    }

    /// The header of that name.
    /// - Throws: 422 if it is not valid.
    func idempotencyKey() throws(Problem) -> String? {
        guard let key = request.head.value(of: "Idempotency-Key") else { return nil }
        guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw .invalidParameter("Idempotency-Key", "must be 1 to 255 visible ASCII characters")
        }
        return key
    }

    /// Submits a change of deliveries, and sends the response to its outcome.
    func submit(
        _ action: DeliveryWrite.Action, to hub: Hub, idempotency: Idempotency<DeliveryWrite.Outcome>?,
        _ answer: @escaping @Sendable (DeliveryWrite.Outcome) -> Response
    ) {
        begin(hub)?.submit(
            DeliveryWrite(app: app, action: action, provenance: provenance, idempotency: idempotency) { [self] in
                send($0, answer)
            })
    }

    /// Sends the response to a completed write.
    func send<Outcome>(_ result: WriteResult<Outcome>, _ answer: (Outcome) -> Response) {
        send(response(to: result, answer))
    }

    /// The response to a completed write.
    func response<Outcome>(to result: WriteResult<Outcome>, _ answer: (Outcome) -> Response) -> Response {
        switch result {
        case .done(let outcome): answer(outcome)
        case .refused(let refusal): response(to: Problem(refusal))
        case .replayed(let stored): Response(stored)
        }
    }
}

extension StoredAnswer {
    /// The headers that are stored with a response.
    private static let names: [StaticString] = ["Content-Type", "Location", "ETag", "Preference-Applied"]

    init(fingerprint: [UInt8], _ response: Response) {
        let headers = response.headers.filter { field in
            Self.names.contains { $0.description == field.name.description }
        }
        self.init(
            fingerprint: fingerprint, status: response.status,
            headers: headers.map { KeyValue($0.name.description, $0.value) }, body: response.body)
    }

    fileprivate var fields: [Response.Field] {
        headers.compactMap { header in
            Self.names.first { $0.description == header.key }.map { Response.Field($0, header.value) }
        }
    }
}

extension Response {
    fileprivate init(_ stored: StoredAnswer) {
        self.init(
            status: stored.status, headers: stored.fields + [.init("Idempotent-Replayed", "true")], body: stored.body)
    }
}
