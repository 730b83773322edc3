/// Addresses and limits of a server.
package struct HTTPServerConfiguration: Sendable {
    /// An address or a name that resolves to one: `127.0.0.1`, `::1`, `0.0.0.0`, `[::]`, `localhost`.
    package var host: String
    /// 0 lets the system choose; see `HTTPServer.port`.
    package var port: UInt16
    /// Threads, each with its own share of the connections.
    package var loops = 1
    /// Checked with `Content-Length`, and while the body arrives.
    package var maxBodyBytes: Int
    /// In total, of bodies of more than 16 KiB that are on their way: of incomplete requests, and of responses to GET that are not
    /// sent yet. A request that exceeds it gets 503, but not if it is the only one. With a limit of connections of one
    /// address, a client may have three times as many as stay free.
    package var maxPartialBytes = Int.max
    /// Memory of a connection for the request line and the header fields, plus about 50 bytes for each field and each
    /// query item; half of it is the read buffer for bodies. From 4,096 to 65,535. The library clears it one and a half
    /// times for each request, which takes longer when the memory of all connections no longer fits into the processor's cache.
    package var maxHeadBytes = 8_192
    /// In total. A client, which is an IPv4 address or an IPv6 /64, may have twice as many as there are free places
    /// (`AddressShares`); a further one replaces one of its own (`ServerLoop+Room.swift`). When all places are taken,
    /// connections of the clients with the most are closed first. New connections wait in the system's queue only while
    /// all others have a request in progress.
    package var maxConnections = 2000
    /// Streams (`Responder.stream`), besides the connections. Each needs a descriptor and less than 1 KiB. With a limit of
    /// connections of one address, an address may have four times as many streams as there are free places, and a group
    /// always has three times as many at most (`StreamShares`). Over TLS a stream keeps its connection, so there are at
    /// most three for eight connections.
    package var maxStreams = 2000
    /// From one IPv4 address or one IPv6 /64, without streams. Further connections replace idle ones, or serve only the
    /// requests that have a reserve (`RequestHandler.mayUseReserve`); beyond that, they are closed at once. 0 for no
    /// limit. An address may also begin a quarter as many TLS handshakes per second.
    package var maxConnectionsPerAddress = 200
    /// The address of a client behind one of them is the one that the proxy names. It counts for all limits.
    package var trustedProxies = TrustedProxies()
    /// Whether the trusted proxies begin each connection with the header of the PROXY protocol. One without it is closed.
    package var readsProxyHeaders = false
    /// Called when connections or requests are refused because their address has too many connections, at most once a
    /// minute. On a thread of the server; must not wait.
    package var reportRefusals: @Sendable (RefusalReport) -> Void = { _ in }
    /// Requests without a response when `handle` returned. Beyond it, requests that may wait get 503.
    package var maxWaiting = 10_000
    /// How long a connection may be idle, and how long a client may take to read a response.
    package var idleTimeoutSeconds = 30
    /// From a connection's start, or from the request line of a later request, until the request is complete.
    package var requestDeadlineSeconds = 10
    /// From a complete request until its response; then the server sends 503.
    package var answerDeadlineSeconds = 120
    /// Names that a `Host` field may contain, without port, in any case. Empty for any name.
    package var allowedHosts: [String] = []

    /// The certificate for TLS 1.2 or newer; `nil` for plain HTTP. See `HTTPServer.replaceCertificate`.
    package var certificate: ServerCertificate?
    /// With a certificate: how long browsers must use only `https` for this host name, on any port
    /// (`Strict-Transport-Security`); 0 to omit the header.
    package var strictTransportSeconds = 0

    package init(host: String = "127.0.0.1", port: UInt16 = 0, maxBodyBytes: Int) {
        self.host = host
        self.port = port
        self.maxBodyBytes = maxBodyBytes
    }
}

extension HTTPServerConfiguration {
    /// Whether a thread of its own accepts connections, for their handshakes or headers.
    var hasAcceptingThread: Bool { certificate != nil || readsProxyHeaders }

    /// Over TLS a stream keeps its connection.
    var possibleStreams: Int { certificate == nil ? maxStreams : min(maxStreams, max(1, maxConnections * 3 / 8)) }

    /// The first invalid setting, if any.
    var problem: String? {
        if loops < 1 || loops > 256 { return "loops must be from 1 to 256" }
        if maxHeadBytes < 4096 || maxHeadBytes > 65_535 { return "maxHeadBytes must be from 4096 to 65535" }
        if maxConnections < loops { return "maxConnections must be at least the number of loops" }
        if maxBodyBytes < 0 || maxPartialBytes < 0 || maxConnectionsPerAddress < 0 || maxWaiting < 0 || maxStreams < 0
            || strictTransportSeconds < 0
        {
            return "limits must not be negative"
        }
        if idleTimeoutSeconds < 1 || requestDeadlineSeconds < 1 || answerDeadlineSeconds < 1 {
            return "timeouts must be at least one second"
        }
        return nil
    }
}
