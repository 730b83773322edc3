import HeraldCrypto
import HeraldJSON
import HeraldModel

/// The request that the recipe of a delegate makes of a callback: all that differs from a plain one.
struct RecipeRequest {
    let method: RecipePlan.Method
    let url: CallbackURL
    /// `nil` if the URL is the delegate's own.
    let parsedURL: ParsedURL?
    let payload: Payload
    /// The lines before those that all callbacks of the target share.
    let lines: [String]
    /// It has the headers of a plain callback, with the signature.
    let hasStandardSignature: Bool

    /// The bytes of its body and of its lines.
    var ownBytes: Int { lines.reduce(payload.range.count) { $0 + $1.utf8.count } }
}

/// A recipe that is ready to make requests, with the keys of its delegate.
struct RecipeTarget {
    let plan: RecipePlan
    /// The schemes with the keys of the delegate, newest first. `expiresAt`: milliseconds since 1970 UTC.
    private let signers: [(scheme: Scheme, keys: [(bytes: [UInt8], expiresAt: Int64)])]

    /// The names of the headers that have a secret itself.
    var tokenHeaders: [String] { signers.map { $0.scheme }.filter { $0.algorithm == .token }.map(\.header) }

    init(_ plan: RecipePlan, _ secrets: [DelegateSecret]) {
        self.plan = plan
        signers = plan.signatures.compactMap { signature in
            guard case .scheme(let scheme) = signature else { return nil }
            // A key that was made for another scheme, and still signs for a while, is none of this one's.
            let keys: [(bytes: [UInt8], expiresAt: Int64)] = secrets.compactMap { entry in
                (try? scheme.key(entry.secret.text, for: .signing)).map { ($0, entry.expiresAt ?? .max) }
            }
            return (scheme: scheme, keys: keys)
        }
    }

    /// - Parameters:
    ///   - token: the bearer token, if the recipe has OAuth 2.0.
    ///   - now: milliseconds since 1970 UTC.
    func request(
        _ callback: Callback, to base: CallbackURL, _ encoder: inout PayloadEncoder, token: String? = nil, now: Int64
    ) throws(TransferError) -> RecipeRequest {
        var budget = WorkBudget(steps: TemplateLimits.steps)
        let event = EventView(callback.event)
        let roots = TemplateRoots(event, callback.delegate)
        do throws(FieldError) {
            let url = try url(base, roots, &budget)
            let (payload, form) = try body(callback, roots, &encoder, &budget)
            var lines = try headers(
                payload, TemplateRoots(event, callback.delegate, attempt: callback.attempt), &budget)
            lines += authorization(token)
            let hasStandard = plan.signatures.contains(.standard)
            if !hasStandard { lines += plainLines(callback) }
            lines += try signatureLines(callback, url, payload, form, now: now)
            let signed = try amazonLines(callback, url, lines, payload, now: now)
            return RecipeRequest(
                method: plan.method, url: url, parsedURL: url == base ? nil : ParsedURL(url), payload: payload,
                lines: lines + signed, hasStandardSignature: hasStandard)
        } catch {
            throw TransferError(notMade: error)
        }
    }

    // MARK: Parts

    private func url(
        _ base: CallbackURL, _ roots: TemplateRoots, _ budget: inout WorkBudget
    ) throws(FieldError) -> CallbackURL {
        if plan.path == nil, plan.query.isEmpty { return base }
        let parts = base.text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var text = String(parts[0])
        if let path = plan.path {
            if text.hasSuffix("/") { text.removeLast() }
            text += try path.render(roots, &budget)
        }
        var query = parts.count > 1 ? [String(parts[1])] : []
        for entry in plan.query {
            query.append("\(URLPart.encoded(entry.name))=\(try entry.value.render(roots, &budget))")
        }
        if !query.isEmpty { text += "?" + query.joined(separator: "&") }
        guard let url = try? CallbackURL(text), url.scheme == base.scheme, url.host == base.host, url.port == base.port
        else { throw FieldError("/path", "makes a URL that callbacks can't be sent to") }
        return url
    }

    private func body(
        _ callback: Callback, _ roots: TemplateRoots, _ encoder: inout PayloadEncoder, _ budget: inout WorkBudget
    ) throws(FieldError) -> (Payload, form: [(name: String, value: String)]) {
        let event = callback.event
        switch plan.body {
        case .format:
            let format = callback.delegate.settings.format
            let payload = encoder.payload(event, format)
            guard let type = Payload.contentType(format) else { return (payload, []) }
            return (Payload(payload.bytes, payload.range, headers: [KeyValue("content-type", type)]), [])
        case .data: return (Payload(event.body, event.dataRange, headers: [Self.json]), [])
        case .none: return (Payload([]), [])
        case .template(let template):
            let bytes = try template.render(roots, &budget)
            guard plan.isForm else { return (Payload(bytes, headers: [Self.json]), []) }
            let form = try FormText.fields(bytes)
            let type = KeyValue("content-type", "application/x-www-form-urlencoded")
            return (Payload(Array(FormText.encoded(form).utf8), headers: [type]), form)
        }
    }

    private static let json = KeyValue("content-type", "application/json")

    /// The headers of the recipe, and those of the body that the recipe does not name.
    private func headers(
        _ payload: Payload, _ roots: TemplateRoots, _ budget: inout WorkBudget
    ) throws(FieldError) -> [String] {
        var lines: [String] = []
        var names: Set<String> = []
        for entry in plan.headers {
            let value = try entry.value.render(roots, &budget)
            names.insert(entry.name.lowercased())
            lines.append(HeaderText.line(entry.name, value))
        }
        for header in payload.headers where !names.contains(header.key) && HeaderText.isValue(header.value) {
            lines.append("\(header.key): \(header.value)")
        }
        // Otherwise libcurl says that a body of no bytes is a form.
        if payload.headers.isEmpty, !names.contains("content-type") { lines.append("content-type:") }
        return lines
    }

    private func authorization(_ token: String?) -> [String] {
        switch plan.auth {
        case .basic(let user, let password):
            ["authorization: Basic \(Base64.encode(Array("\(user):\(password)".utf8)))"]
        case .oauth2: token.map { ["authorization: Bearer \($0)"] } ?? []
        case .aws, nil: []
        }
    }

    /// The signature of Amazon, if the recipe has one.
    /// - Parameter lines: those of the recipe. The delegate's own headers, such as `x-amz-security-token`, are signed too.
    private func amazonLines(
        _ callback: Callback, _ url: CallbackURL, _ lines: [String], _ payload: Payload, now: Int64
    ) throws(FieldError) -> [String] {
        guard case .aws(let region, let service, let keyID, let secret) = plan.auth else { return [] }
        let own = Target.registeredLines(callback.delegate)
        let signer = AWSSigner(region: region, service: service, keyID: keyID, secret: secret)
        do throws(CryptoError) {
            return try signer.lines(
                plan.method.rawValue, url, lines + own, body: Array(payload.bytes[payload.range]), now: now)
        } catch {
            throw FieldError("/auth", error.description)
        }
    }

    /// The headers of a plain callback beside its signature, for receivers that drop repeated events.
    private func plainLines(_ callback: Callback) -> [String] {
        let id = EventID.header(callback.event.id)
        // A second header of the name would become `id, id`, and the signature of the scheme wrong.
        let isOfScheme = signers.contains { $0.scheme.idHeader?.lowercased() == "webhook-id" }
        let hasID = HeaderText.isValue(id) && !isOfScheme
        return (hasID ? ["webhook-id: \(id)"] : []) + ["herald-attempt: \(callback.attempt)"]
    }

    private func signatureLines(
        _ callback: Callback, _ url: CallbackURL, _ payload: Payload, _ form: [(name: String, value: String)],
        now: Int64
    ) throws(FieldError) -> [String] {
        var lines: [String] = []
        // Several schemes may have one header for the id or the time, which is sent once.
        var names: Set<String> = plan.signatures.contains(.standard) ? ["webhook-id", "webhook-timestamp"] : []
        for signer in signers {
            // A callback is never sent without a signature that its recipe names.
            let keys = signer.keys.filter { $0.expiresAt > now }.map(\.bytes)
            guard !keys.isEmpty else {
                throw FieldError("/sign", "has no secret that fits \(signer.scheme.header): rotate the secret")
            }
            let message = Scheme.Message(
                id: EventID.header(callback.event.id), timestamp: now / 1000, body: Array(payload.bytes[payload.range]),
                url: url.text, form: form)
            do throws(CryptoError) {
                for header in try signer.scheme.headers(for: message, keys: keys)
                where header.name == signer.scheme.header || names.insert(header.name.lowercased()).inserted {
                    lines.append("\(header.name): \(header.value)")
                }
            } catch {
                throw FieldError("/sign", error.description)
            }
        }
        return lines
    }
}

extension TemplateRoots {
    fileprivate convenience init(_ event: EventView, _ delegate: WebhookDelegate, attempt: Int? = nil) {
        self.init(event, delegate: delegate.id, metadata: delegate.settings.metadata, attempt: attempt)
    }
}
