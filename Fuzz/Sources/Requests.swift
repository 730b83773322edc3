import HeraldJSON
import HeraldWebhooks

@testable import HeraldAPI
@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldHTTP
@testable import HeraldModel

private let context = EventInput.Context(app: .default, now: 1_800_000_000_000, ids: ULIDGenerator())

/// An accepted event fits all rules; a refused one has a reason.
func fuzzEvent(_ bytes: [UInt8]) {
    guard let document = try? JSONDocument(parsing: bytes) else { return }
    var errors: [FieldError] = []
    let draft = EventInput.read(document.root, at: "", context, &errors)
    precondition((draft == nil) == !errors.isEmpty)
    guard let draft else { return }
    precondition(EventType.isValid(draft.event.type) && EventID.isKnowable(draft.event.id))
}

/// A head, an empty line, a body: as the server reads a CloudEvent of any of the three modes.
func fuzzCloudEvent(_ bytes: [UInt8]) {
    let end = bytes.indices.first { bytes[$0] == 10 && $0 + 1 < bytes.count && bytes[$0 + 1] == 10 } ?? bytes.endIndex
    let body = Array(bytes[end...].dropFirst(2))
    guard let head = readHead(Array(bytes[..<end])), let form = CloudEventInput.Form(head) else { return }
    var posted = body
    if form == .binary {
        let request = Request(head: head, body: body, peer: PeerAddress(high: 0, low: 1))
        guard let document = try? CloudEventInput.document(request) else { return }
        posted = document
    }
    guard let document = try? JSONDocument(parsing: posted, limits: JSONLimits(values: 200_000)) else {
        precondition(form != .binary, "the document of a binary request is not JSON")
        return
    }
    for value in form == .batch ? Array(document.root.elements) : [document.root] {
        var errors: [FieldError] = []
        let draft = CloudEventInput.read(value, at: "", context, &errors)
        precondition((draft == nil) == !errors.isEmpty)
    }
}

/// A registration or a merge patch of one. Both say what is wrong, or nothing is.
func fuzzDelegate(_ bytes: [UInt8]) {
    guard let document = try? JSONDocument(parsing: bytes) else { return }
    let check = WebhookRules { CallbackRules(AddressGuard()).problems(of: &$0) }
    if let registration = try? DelegateInput.registration(document, check) {
        precondition((1...64).contains(registration.settings.events.count))
        precondition(
            registration.settings.headers.allSatisfy {
                CallbackHeaderRules.problem(name: $0.key, value: $0.value) == nil
            })
    }
    _ = try? DelegateInput.patch(document, check)
}

/// A request as lines, the target of which was sent as it is.
func fuzzHead(_ bytes: [UInt8]) {
    guard let head = readHead(bytes) else { return }
    precondition(head.pathBytes.first == UInt8(ascii: "/"))
    precondition(head.pathBytes.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "?") })
    precondition(!(head.isChunked && head.contentLength != nil))
    for (name, value) in head.fields {
        precondition(!name.isEmpty && name.utf8.allSatisfy(isTokenByte))
        precondition(value.utf8.allSatisfy(isValueByte))
    }
    _ = TraceParent.isValid(head.value(of: "traceparent") ?? "")
    _ = table.map { try? $0.match(head.method, head.pathBytes) }
}

private let table: RouteTable? = RouteTable(
    ["/v1/delegates/{id}", "/v1/delegates/{id}/deliveries", "/v1/events", "/v1/events/{id}"].map {
        Route(.get, $0, needs: nil) { _ in }
    })

/// A place in the log, as in `Last-Event-ID`, or a cursor.
func fuzzPlace(_ bytes: [UInt8]) {
    switch PositionInput(bytes.text) {
    case .event(let id): precondition(EventID.isKnowable(id) && id == bytes.text)
    case .time(let time): precondition(PositionInput(Timestamp(milliseconds: time).description) == .time(time))
    case .after: preconditionFailure("no text is a position")
    case .now, .earliest, nil: break
    }
    // A text that the seal takes is one that it made.
    if let place = seal.number(bytes.text, .event, of: .default) {
        let open = ULIDGenerator.parts(of: bytes)?.time ?? 0
        precondition(seal.text(place, .event, of: .default, open: open) == bytes.text)
    }
    _ = seal.place(bytes.text, .event, of: .default)
    _ = seal.attempt(bytes.text, app: .default)
}

private let seal = NumberSeal(ServerSecret(bytes: Array(repeating: 7, count: ServerSecret.byteCount)))

/// A query string. The link to the next page means the same.
func fuzzQuery(_ bytes: [UInt8]) {
    // The rules of heads let nothing else through.
    guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") }) else { return }
    guard let query = try? Query(bytes.text, known: ["cursor", "limit", "since", "all", "state"]) else { return }
    _ = try? query.time("since")
    _ = try? query.flag("all")
    if let limit = try? query.limit() { precondition((1...200).contains(limit)) }
    guard let next = try? Query(query.with("cursor", "a+b&c=ü%"), known: ["cursor", "limit", "since", "all", "state"])
    else {
        preconditionFailure("the link to the next page can't be read")
    }
    precondition(next["cursor"] == "a+b&c=ü%" && next["state"] == query["state"])
}

/// Lines with LF: the request line, then the fields. What the rules of heads make of it.
private func readHead(_ bytes: [UInt8]) -> RequestHead? {
    let lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
    let first = lines[0].split(separator: 32, maxSplits: 2, omittingEmptySubsequences: false)
    guard first.count == 3 else { return nil }
    let texts = first.map { Array($0) }
    // The server's library drops the spaces before a value, and ends a name at the first colon.
    let fields = lines.dropFirst().compactMap { line -> (name: [UInt8], value: [UInt8])? in
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        return (Array(line[..<colon]), Array(line[(colon + 1)...].drop { $0 == 32 || $0 == 9 }))
    }
    var all = texts.flatMap { $0 }
    for field in fields { all += field.name + field.value }
    return all.withUnsafeBufferPointer { buffer in
        var place = 0
        func next(_ count: Int) -> RawHead.Bytes {
            defer { place += count }
            return RawHead.Bytes(rebasing: buffer[place..<(place + count)])
        }
        let start = texts.map { next($0.count) }
        let pairs = fields.map { (name: next($0.name.count), value: next($0.value.count)) }
        let raw = RawHead(method: start[0], target: start[1], version: start[2], fields: pairs)
        return raw.flatMap { try? HeadRules(allowedHosts: [], maxBodyBytes: 1 << 20).check($0) }
    }
}
