import CHeraldCurl
import CHeraldSSL
import Glibc
import HeraldModel
import HeraldRuntime

/// One request at a time: its libcurl handle, and the memory that libcurl reads and writes.
///
/// Each request has a libcurl handle of its own, which is freed before the next. So nothing that a receiver has sent
/// outlives its request in libcurl: from 7.84 to 8.0, a handle that is used again keeps a pointer into the freed headers
/// of its last response, and a response that begins with a folded line writes there. It costs 2.7 µs per request.
///
/// Owned by one sender and confined to its thread. libcurl holds its address and that of the memory it owns: the sender
/// keeps it alive until the handle is freed.
final class Transfer {
    let index: Int
    /// `nil` between requests.
    private(set) var easy: UnsafeMutableRawPointer?
    let descriptors: Descriptors
    let openBodies: OpenBodies
    let addressGuard: AddressGuard
    let gate: Gate

    // The current callback.
    private(set) var target: Target?
    private(set) var pin: Pin?
    private(set) var callback: Callback?
    /// When the attempt began, when the address was known, and when the transfer was last passed to libcurl:
    /// nanoseconds of the monotonic clock.
    var startedAt: Int64 = 0
    var lookedUpAt: Int64 = 0
    var dialledAt: Int64 = 0
    /// When the access token in its request was issued, by the same clock; 0 without one.
    var tokenIssuedAt: Int64 = 0
    /// It uses a new connection: for the second try after a dead connection, or because its target uses each connection
    /// once.
    private(set) var isFresh = false
    var isOpen: Bool { callback != nil }
    /// A connection that was made for this callback and not handed to libcurl yet; -1 if there is none.
    var socket: Int32 = -1
    /// libcurl may connect by itself although the host has several addresses.
    var connectsItself = false
    /// libcurl wanted a new connection, which `Connector` has to make.
    var needsConnection = false
    /// libcurl has begun to resolve the name of the proxy, for a new connection.
    var hasResolved = false
    private var isHandshake = false
    private let caFile: String?
    /// The content that is sent: libcurl holds the address of the bytes.
    private var payload: Payload?
    /// The entries that follow `headers`, if this callback has headers that its target's other callbacks lack.
    private var extraHeaders: HeaderList?
    /// The URL of this request, if it is not that of its target.
    private var ownURL: ParsedURL?
    /// The bytes of its request that `RecipeBodies` counts; they stay counted while it is prepared.
    var recipeBytes = 0
    /// How much of the response's body is kept.
    var excerptLimit = Transfer.shownExcerpt

    // The response.
    /// Bytes and lines of all header sections, with the trailer.
    var headerCount = 0
    var lineCount = 0
    var bodyCount = 0
    /// The codings in all header sections: libcurl removes those of interim responses from the body too.
    var codingCount = 0
    var excerpt: [UInt8] = []
    var answer = AnswerHeaders()
    /// Whether the header section of the latest response is complete.
    var isHeadComplete = false
    /// The latest response only precedes the one to the request (a status below 200).
    var isInterim = false
    /// When the header section of the response was complete, in nanoseconds of the monotonic clock; 0 before.
    var decidedAt: Int64 = 0
    /// When the first line arrived, in nanoseconds of the monotonic clock.
    var answeredAt: Int64 = 0
    /// `address:port` of the peer, once it is known.
    var peer = ""
    /// It opened a socket, so it used, or tried to use, a new connection.
    var hasDialled = false
    /// That socket.
    var descriptor: Int32 = -1
    /// When TLS began on its new connection, in nanoseconds of the monotonic clock; 0 if it did not.
    var tlsBeganAt: Int64 = 0
    /// The TLS messages of the receiver on its new connection.
    let tlsEvents: UnsafeMutablePointer<herald_tls_events>
    /// libcurl has made the request over a connection that was open already.
    private(set) var isOnKeptConnection = false
    /// Number of requests that libcurl made: at most one.
    private var requestCount = 0
    /// libcurl was about to make the request again by itself.
    private(set) var isRepeated = false
    /// The rule by which the address guard refused the connection.
    var refusal: String?
    /// The request was not sent, because another node may deliver by now.
    var isTooLate = false
    /// The request was not sent, because this machine has no socket for it.
    var lack: CallbackOutcome.Verdict?

    let errorText: UnsafeMutablePointer<CChar>
    private let headers: CallbackHeaders

    init(
        index: Int, descriptors: Descriptors, openBodies: OpenBodies, addressGuard: AddressGuard, gate: Gate,
        caFile: String?
    ) {
        self.index = index
        self.descriptors = descriptors
        self.openBodies = openBodies
        self.addressGuard = addressGuard
        self.gate = gate
        self.caFile = caFile
        headers = CallbackHeaders()
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        tlsEvents = .allocate(capacity: 1)
        tlsEvents.initialize(to: herald_tls_events())
    }

    /// The connections that it has opened must have been closed.
    deinit {
        closeSocket()
        curl_easy_cleanup(easy)
        errorText.deallocate()
        tlsEvents.deallocate()
    }

    /// The part of a response's body that attempts keep.
    static let shownExcerpt = 1024
    /// The part that a condition on the body reads.
    static let readExcerpt = 16 * 1024

    /// Prepares a new handle for a callback. The handle of the last request must have been removed from its multi
    /// handle.
    /// - Parameters:
    ///   - recipe: the request that the delegate's recipe makes; `nil` for a plain one.
    ///   - now: milliseconds since 1970 UTC.
    ///   - milliseconds: the remaining time of this attempt.
    ///   - isFresh: whether it must not use an open connection.
    func prepare(
        _ callback: Callback, _ target: Target, _ pin: Pin, _ payload: Payload, _ recipe: RecipeRequest?, now: Int64,
        milliseconds: Int, isFresh: Bool
    ) throws(TransferError) {
        clear()
        self.target = target
        self.pin = pin
        self.isFresh = isFresh || target.usesConnectionsOnce
        isHandshake = callback.purpose == .handshake
        try makeHandle(target)
        herald_easy_set_connect_to(easy, pin.connectTo?.first)
        herald_easy_set_timeouts(easy, milliseconds, min(milliseconds, 5000))
        if self.isFresh { herald_easy_set_fresh(easy) }
        if isHandshake {
            herald_easy_set_options(easy, target.handshakeHeaders.first)
        } else if let recipe {
            try set(recipe, callback, target, now)
        } else {
            setHeaders(callback, payload, target)
            try setBody(callback, payload, target, now)
        }
        self.callback = callback
    }

    /// Makes the handle, with the settings that all requests and those of the target share.
    private func makeHandle(_ target: Target) throws(TransferError) {
        easy = curl_easy_init()
        let own = Unmanaged.passUnretained(self).toOpaque()
        func configure(_ caFile: UnsafePointer<CChar>?) -> Bool {
            var settings = herald_easy_settings(
                transfer: own, descriptors: Unmanaged.passUnretained(descriptors).toOpaque(), error_text: errorText,
                headers: headers.first, ca_file: caFile,
                body: onBody, header: onHeader, open_socket: onOpenSocket, close_socket: onCloseSocket,
                before_request: onRequest, progress: onProgress, tls: onTLS)
            return herald_easy_configure(easy, &settings) == 1
        }
        let isConfigured = caFile.map { $0.withCString { configure($0) } } ?? configure(nil)
        guard easy != nil, isConfigured else {
            throw TransferError("libcurl has no memory for a handle", .stopped)
        }
        try setURL(target.parsedURL)
        if target.multi == .http2 {
            herald_easy_set_http2(
                easy, target.url.scheme == .https ? 1 : 0, target.usesConnectionsOnce ? 0 : 1, target.connectionGroup)
        }
        if let proxy = target.proxy, herald_easy_set_proxy(easy, proxy.url, onResolve, own) != 1 {
            throw TransferError("libcurl did not take the proxy")
        }
        if let sessions = target.sessions { herald_easy_set_share(easy, sessions.handle) }
        if let tls = target.tls {
            let texts = [caFile, tls.authorities, tls.pin, tls.certificate, tls.key]
            let isSet = withCStrings(texts) { herald_easy_set_tls(easy, $0[0], $0[1], $0[2], $0[3], $0[4]) == 1 }
            guard isSet else { throw TransferError("libcurl did not take the delegate's TLS settings") }
        }
    }

    private func setURL(_ url: ParsedURL) throws(TransferError) {
        guard herald_easy_set_url(easy, url.handle) == 1 else {
            throw TransferError("libcurl has no memory for the URL")
        }
    }

    private func setHeaders(_ callback: Callback, _ payload: Payload, _ target: Target) {
        var lines = callback.ownLines
        for header in payload.headers where HeaderText.isValue(header.value) {
            lines.append("\(header.key): \(header.value)")
        }
        extraHeaders = lines.isEmpty ? nil : HeaderList(lines, before: target.headers)
        headers.setRest(extraHeaders ?? target.headers)
    }

    /// Sets what a recipe decides.
    private func set(
        _ request: RecipeRequest, _ callback: Callback, _ target: Target, _ now: Int64
    ) throws(TransferError) {
        let list = HeaderList(callback.ownLines + request.lines, before: target.headers)
        extraHeaders = list
        headers.setRest(list)
        if let url = request.parsedURL {
            ownURL = url
            try setURL(url)
        }
        try setBody(callback, request.payload, target, now, isSigned: request.hasStandardSignature)
        if !request.hasStandardSignature { herald_easy_set_headers(easy, list.first) }
        if request.method != .post { herald_easy_set_method(easy, request.method.rawValue) }
        if callback.purpose == .token || target.recipe?.plan.success != nil { excerptLimit = Transfer.readExcerpt }
    }

    private func setBody(
        _ callback: Callback, _ payload: Payload, _ target: Target, _ now: Int64, isSigned: Bool = true
    ) throws(TransferError) {
        try payload.bytes.withUnsafeBufferPointer { bytes throws(TransferError) in
            let body = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[payload.range])
            if isSigned { try headers.write(callback, target.signers, body, now: now) }
            // The bytes do not move, and this object keeps them until libcurl has finished.
            herald_easy_set_body(easy, body.baseAddress ?? UnsafeRawPointer(errorText), body.count)
        }
        self.payload = payload
    }

    /// Number of bytes in the request body.
    var bodySize: Int { isHandshake ? 0 : payload?.range.count ?? 0 }

    /// Its connection is to a proxy, which the operator has chosen. The receiver's address, to which the proxy connects, was authorized
    /// before.
    var isProxied: Bool { target?.proxy != nil }

    func authorize(_ address: IPAddress, _ port: UInt16) -> AddressGuard.Verdict {
        isProxied ? .allowed : addressGuard.authorize(address: address, port: port, host: target?.name)
    }

    /// Called when libcurl is about to make a request, or to open a connection for one.
    /// - Returns: whether it may. It makes a request again by itself if a kept connection has ended before the response,
    ///   or if the receiver has refused the HTTP/2 stream; Herald makes an attempt of its own then, with its own number.
    func mayRequest() -> Bool {
        if requestCount > 0 { isRepeated = true }
        return requestCount == 0
    }

    /// libcurl has made a request. CONNECT, to a proxy, is none.
    var hasRequested: Bool { requestCount > 0 }

    /// libcurl has neither made the request, nor tried to make a connection for it.
    var isUnbegun: Bool {
        isOpen && !hasResolved && !hasDialled && !hasRequested && !needsConnection && !isTooLate && refusal == nil
    }

    /// Called when libcurl makes a request.
    func recordRequest() {
        requestCount += 1
        isOnKeptConnection = !hasDialled
    }

    func record(peer address: IPAddress, port: UInt16) {
        if let pin, pin.address == address, pin.port == port {
            peer = pin.peer
        } else {
            peer = address.family == .v4 ? "\(address):\(port)" : "[\(address)]:\(port)"
        }
    }

    /// Whether a new connection to an address has to be made by `Connector`.
    var leavesConnecting: Bool { socket < 0 && !isProxied && !connectsItself && target?.hasSeveralAddresses == true }

    /// The open connection to this address.
    func takeSocket(_ address: IPAddress, _ port: UInt16) -> Int32? {
        guard socket >= 0, let pin, pin.address == address, pin.port == port else { return nil }
        defer { socket = -1 }
        return socket
    }

    /// Closes the connection that libcurl did not need.
    func closeSocket() {
        if socket >= 0 { close(socket) }
        socket = -1
    }

    /// Frees the handle, and forgets the callback and its response.
    func clear() {
        // First, because libcurl holds addresses of the rest.
        curl_easy_cleanup(easy)
        easy = nil
        callback = nil
        target = nil
        pin = nil
        payload = nil
        extraHeaders = nil
        ownURL = nil
        excerptLimit = Transfer.shownExcerpt
        headerCount = 0
        lineCount = 0
        bodyCount = 0
        codingCount = 0
        excerpt = []
        answer = AnswerHeaders()
        isHeadComplete = false
        isInterim = false
        decidedAt = 0
        answeredAt = 0
        peer = ""
        hasDialled = false
        needsConnection = false
        hasResolved = false
        descriptor = -1
        tlsBeganAt = 0
        tlsEvents.pointee = herald_tls_events()
        isOnKeptConnection = false
        requestCount = 0
        isRepeated = false
        refusal = nil
        isTooLate = false
        lack = nil
        errorText.pointee = 0
    }
}

extension Callback {
    /// The lines that only this callback has.
    var ownLines: [String] {
        var lines: [String] = []
        if case .delivery(isReplay: true) = purpose { lines.append("herald-replay: true") }
        if let trace = span?.context.text ?? event.traceParent { lines.append("\(TraceParent.name): \(trace)") }
        if let state = event.traceState { lines.append("\(TraceParent.stateName): \(state)") }
        return lines
    }
}

/// Why a callback is not sent.
struct TransferError: Error {
    let verdict: CallbackOutcome.Verdict
    /// As a preview shows it.
    let field: FieldError

    /// Not inlined, since it is rare and has many callers.
    /// - Parameter failure: `stopped` if it is not the receiver's.
    @inline(never)
    init(_ detail: String, _ failure: CallbackFailure = .protocolError) {
        verdict = .failed(failure, detail: detail)
        field = FieldError("/request", detail)
    }

    /// - Parameter error: of the delegate's recipe, which makes no request of the event.
    @inline(never)
    init(notMade error: FieldError) {
        let pointer = "/request\(error.pointer)"
        verdict = .failed(.requestNotMade, detail: "\(pointer) \(error.detail)")
        field = FieldError(pointer, error.detail)
    }
}
