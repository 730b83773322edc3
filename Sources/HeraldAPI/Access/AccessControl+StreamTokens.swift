import HeraldCore
import HeraldCrypto
import HeraldHTTP
import HeraldModel
import HeraldRuntime

/// Stream tokens: parameters of the URL of one stream, for `EventSource`, which can't send a key.
///
/// A token is not stored. It contains its expiration, its app and its origin, and a code that binds these to the path and
/// the filter of the stream. The key of the code is in the store, so all processes accept the token, also after a restart.
extension AccessControl {
    private static let parameter = "token="
    /// A client that reconnects may change the position, and nothing else.
    private static let unbound = [parameter, "last_event_id="]

    /// - Parameters:
    ///   - query: the filter of the stream, encoded.
    ///   - end: milliseconds since 1970 UTC.
    /// - Returns: the path and the query of the stream, with the token.
    func newStreamTarget(
        _ path: String, query: String, for principal: Principal, until end: Int64
    ) throws(CryptoError) -> String {
        let session = principal.session.map { Base64.encodeURLSafe($0) } ?? ""
        let grant = "\(end).\(principal.app.rawValue).\(origin(of: principal)).\(session)"
        let code = Base64.encodeURLSafe(try streamCode(grant, path, query))
        let token = Self.parameter + Base64.encodeURLSafe(Array(grant.utf8)) + "." + code
        return path + "?" + query + (query.isEmpty ? "" : "&") + token
    }

    /// The principal of the token in the query of a request for a stream. It may only read.
    /// - Returns: `nil` without a token.
    /// - Throws: 401 if the token is not valid for this path and filter, or has expired, or if its origin has ended.
    func streamPrincipal(of head: RequestHead) throws(Problem) -> Principal? {
        let parts = (head.query ?? "").split(separator: "&")
        let tokens = parts.filter { $0.hasPrefix(Self.parameter) }
        guard let token = tokens.first else { return nil }
        let query = parts.filter { part in !Self.unbound.contains { part.hasPrefix($0) } }.joined(separator: "&")
        guard tokens.count == 1,
            let principal = principal(token: token.dropFirst(Self.parameter.count), head.path, query)
        else { throw .wrongKey }
        return principal
    }

    private func principal(token: Substring, _ path: String, _ query: String) -> Principal? {
        let halves = token.split(separator: ".", omittingEmptySubsequences: false)
        guard halves.count == 2, let bytes = Base64.decodeURLSafe(halves[0]), let code = Base64.decodeURLSafe(halves[1])
        else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let expected = try? streamCode(text, path, query), isEqualInConstantTime(code, expected) else {
            return nil
        }
        let fields = text.split(separator: ".", omittingEmptySubsequences: false)
        guard fields.count == 4, let end = Int64(fields[0]), let number = Int64(fields[1]) else { return nil }
        let (app, origin, now) = (AppKey(rawValue: number), String(fields[2]), hub.clock.wall())
        guard now < end, hub.committed.apps[app] != nil else { return nil }
        let found: Principal?
        if !fields[3].isEmpty, let digest = Base64.decodeURLSafe(fields[3]) {
            found = hub.committed.sessions.find(digest, at: now).flatMap { principal(of: $0) }
        } else if origin == Self.anonymousOrigin {
            found = isRequired ? nil : Principal(identity: .anyone, app: app, scopes: .all)
        } else if origin == operatorName {
            found = operatorPrincipal
        } else {
            found = hub.committed.keys.entry(id: origin).flatMap { self.principal($0) }
        }
        guard var reader = found, reader.scopes.allow(.read) else { return nil }
        reader.expiresAt = min(end, reader.expiresAt ?? .max)
        return reader.reading(app)
    }

    private func streamCode(_ grant: String, _ path: String, _ query: String) throws(CryptoError) -> [UInt8] {
        let code = try HMAC(key: SHA256.hash(Array("stream tokens".utf8) + hub.secret.bytes))
        code.update(Array("\(grant)\n\(path)?\(query)".utf8))
        return try code.finish()
    }
}
