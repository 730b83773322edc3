internal import CHeraldGnuTLS
internal import CHeraldMicrohttpd
internal import CHeraldMicrohttpdErrors

// Callbacks of libmicrohttpd, on the loop's thread, from within `MHD_run` and `MHD_stop_daemon`.

extension herald_mhd {
    static func calling(
        _ loop: ServerLoop, _ configuration: HTTPServerConfiguration, _ socket: ListeningSocket?
    ) -> herald_mhd {
        return herald_mhd(
            owner: Unmanaged.passUnretained(loop).toOpaque(), listen_descriptor: socket?.descriptor ?? -1,
            connection_limit: UInt32(clamping: loop.maxConnections),
            memory_limit: configuration.maxHeadBytes + answerHeadBytes,
            chain: configuration.certificate?.chainText, key: configuration.certificate?.keyText,
            priorities: herald_tls_priorities,
            accepts: mhdAccepts, opened: mhdOpened, closed: mhdClosed, began: mhdBegan, advanced: mhdAdvanced,
            completed: mhdCompleted)
    }
}

/// Memory of a connection besides that for a request's header section.
private let answerHeadBytes = 4096

/// One run of the library.
func runLibrary(_ daemon: OpaquePointer, for loop: ServerLoop) {
    herald_mhd_run(daemon, Unmanaged.passUnretained(loop).toOpaque(), mhdErred, mhdRead)
}

private func mhdErred(_ owner: UnsafeMutableRawPointer?, _ handle: OpaquePointer?, _ status: UInt32) {
    guard let handle else { return }
    lend(owner, herald_mhd_context(handle), otherwise: ()) { loop, connection in
        loop.refuse(connection, libraryStatus: status)
    }
}

private func mhdRead(
    _ owner: UnsafeMutableRawPointer?, _ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int
) {
    guard let owner, let bytes else { return }
    Unmanaged<ServerLoop>.fromOpaque(owner)._withUnsafeGuaranteedRef {
        $0.hasRead(descriptor, RawHead.Bytes(start: bytes.assumingMemoryBound(to: UInt8.self), count: count))
    }
}

private func loop(_ owner: UnsafeMutableRawPointer?) -> ServerLoop? {
    owner.map { Unmanaged<ServerLoop>.fromOpaque($0).takeUnretainedValue() }
}

/// Both without reference counting, for callbacks that occur several times in each request: the thread holds the loop,
/// and the library the connection until `mhdClosed`.
private func lend<Result>(
    _ owner: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, otherwise: Result,
    _ body: (ServerLoop, ClientConnection) -> Result
) -> Result {
    guard let owner, let context else { return otherwise }
    return Unmanaged<ServerLoop>.fromOpaque(owner)._withUnsafeGuaranteedRef { loop in
        Unmanaged<ClientConnection>.fromOpaque(context)._withUnsafeGuaranteedRef { body(loop, $0) }
    }
}

private func mhdAccepts(
    _ owner: UnsafeMutableRawPointer?, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t
) -> Int32 {
    guard let loop = loop(owner), let peer = PeerAddress(address) else { return 0 }
    if loop.arrival != nil { return 1 }
    return loop.addresses.accepts(peer) ? 1 : 0
}

private func mhdOpened(_ owner: UnsafeMutableRawPointer?, _ handle: OpaquePointer?) -> UnsafeMutableRawPointer? {
    guard let loop = loop(owner), let handle else { return nil }
    let connection = loop.add(handle, PeerAddress(herald_mhd_peer(handle)) ?? PeerAddress(high: 0, low: 0))
    // Released in `mhdClosed`.
    return Unmanaged.passRetained(connection).toOpaque()
}

private func mhdClosed(_ owner: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?) {
    guard let loop = loop(owner), let context else { return }
    loop.remove(Unmanaged<ClientConnection>.fromOpaque(context).takeRetainedValue())
}

private func mhdBegan(
    _ owner: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?
) {
    guard let target = bytes(target) else { return }
    lend(owner, context, otherwise: ()) { loop, connection in loop.begin(connection, target) }
}

private func mhdAdvanced(
    _ owner: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ method: UnsafePointer<CChar>?,
    _ target: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
    _ size: UnsafeMutablePointer<Int>?
) -> Int32 {
    guard let size else { return 0 }
    return lend(owner, context, otherwise: 0) { loop, connection in
        if size.pointee > 0 {
            let count = size.pointee
            size.pointee = 0
            guard let data else { return 0 }
            return data.withMemoryRebound(to: UInt8.self, capacity: count) {
                loop.take(connection, RawHead.Bytes(start: $0, count: count)) ? 1 : 0
            }
        }
        if connection.phase == .head {
            guard let method = bytes(method), let version = bytes(version) else { return 0 }
            let layout = HeadLayout(
                method: method, target: target, targetCount: connection.target.count, version: version)
            return loop.readHead(connection, method, version, layout) ? 1 : 0
        }
        return loop.complete(connection) ? 1 : 0
    }
}

private func mhdCompleted(_ owner: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?) {
    lend(owner, context, otherwise: ()) { loop, connection in loop.finish(connection) }
}

/// A C string without its terminator, as bytes.
private func bytes(_ text: UnsafePointer<CChar>?) -> RawHead.Bytes? {
    text.map { RawHead.Bytes(start: UnsafeRawPointer($0).assumingMemoryBound(to: UInt8.self), count: strlen($0)) }
}
