import CHeraldCurl
import CHeraldSSL
import Glibc
import HeraldRuntime

// The functions that libcurl calls, on the thread of the sender that called libcurl. They must not call libcurl. Each
// receives the address of an object that outlives the handle it was set on.

private let maxBody = 16 * 1024
// Of all header sections of a response: interim ones, the last one, and the trailer. libcurl keeps each line.
private let maxHeaders = 16 * 1024
private let maxLines = 128

/// Receives a part of the decompressed response body. Returning less than its size ends the transfer; the status line
/// is known by then.
func onBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ transfer: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let transfer else { return 0 }
    return Unmanaged<Transfer>.fromOpaque(transfer)._withUnsafeGuaranteedRef { transfer in
        let room = transfer.excerptLimit - transfer.excerpt.count
        if room > 0 {
            transfer.excerpt.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: min(count, room)))
        }
        transfer.bodyCount += count
        return transfer.bodyCount <= maxBody ? count : 0
    }
}

/// Bounds the compressed bytes that are read for a body that decompresses to nothing. A result other than 0 ends the
/// transfer.
func onProgress(
    _ transfer: UnsafeMutableRawPointer?, _ expected: curl_off_t, _ received: curl_off_t, _ toSend: curl_off_t,
    _ sent: curl_off_t
) -> Int32 {
    received > maxBody ? 1 : 0
}

/// Receives a header line or the status line.
func onHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ transfer: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let transfer else { return 0 }
    let line = UnsafeRawBufferPointer(start: bytes, count: count)
    return Unmanaged<Transfer>.fromOpaque(transfer)._withUnsafeGuaranteedRef { transfer in
        if transfer.headerCount == 0 {
            transfer.answeredAt = CurlSender.now()
            transfer.allowMore()
        }
        transfer.headerCount += count
        transfer.lineCount += 1
        transfer.take(line)
        let isAllowed = transfer.headerCount <= maxHeaders && transfer.lineCount <= maxLines && !transfer.mustNotDecode
        return isAllowed ? count : 0
    }
}

/// Called when libcurl resolves the name of the proxy: from then on it has a connection for the transfer, which no longer
/// waits for one. A result other than 0 ends the transfer.
func onResolve(
    _ resolver: UnsafeMutableRawPointer?, _ reserved: UnsafeMutableRawPointer?, _ transfer: UnsafeMutableRawPointer?
) -> Int32 {
    guard let transfer else { return 1 }
    Unmanaged<Transfer>.fromOpaque(transfer)._withUnsafeGuaranteedRef { $0.hasResolved = true }
    return 0
}

/// Checks the address of each new connection, and opens its socket or returns the one that is connected.
func onOpenSocket(
    _ transfer: UnsafeMutableRawPointer?, _ purpose: UInt32, _ target: UnsafeMutablePointer<curl_sockaddr>?
) -> Int32 {
    guard let transfer, let target else { return -1 }
    return Unmanaged<Transfer>.fromOpaque(transfer)._withUnsafeGuaranteedRef { transfer in
        var bytes: [UInt8] = .init(repeating: 0, count: 16)
        var port: UInt16 = 0
        let family = herald_socket_address(target, &bytes, &port)
        guard purpose == herald_socket_purpose_connect(), family != 0,
            let address = IPAddress(bytes: bytes.prefix(family == 4 ? 4 : 16))
        else {
            transfer.refusal = "not an internet address"
            return -1
        }
        guard transfer.mayRequest() else { return -1 }
        if case .refused(let rule) = transfer.authorize(address, port) {
            transfer.refusal = rule
            return -1
        }
        let connected = transfer.takeSocket(address, port)
        if connected == nil, transfer.leavesConnecting {
            transfer.needsConnection = true
            return -1
        }
        transfer.record(peer: address, port: port)
        transfer.hasDialled = true
        // libcurl calls `connect` once more, which succeeds at once for a connection that was established without waiting.
        let opened = connected ?? herald_open_socket(target)
        if opened < 0 { transfer.lack = CurlResult.lack(-opened) }
        transfer.descriptor = max(opened, -1)
        transfer.descriptors.begin(transfer.descriptor, isSecure: transfer.target?.url.scheme == .https)
        return transfer.descriptor
    }
}

/// Called when the connection is open and TLS begins. If TLS fails, libcurl does not report this time.
func onTLS(
    _ easy: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ transfer: UnsafeMutableRawPointer?
) -> CURLcode {
    if let transfer {
        Unmanaged<Transfer>.fromOpaque(transfer)._withUnsafeGuaranteedRef {
            $0.tlsBeganAt = CurlSender.now()
            herald_tls_watch(context, $0.tlsEvents)
        }
    }
    return CURLE_OK
}

/// Checks the address before each request: the only check on a connection that was already open. And whether the request may
/// still be sent: libcurl may have made it before, and the process may have stood still since libcurl was called.
func onRequest(
    _ transfer: UnsafeMutableRawPointer?, _ peer: UnsafeMutablePointer<CChar>?, _ local: UnsafeMutablePointer<CChar>?,
    _ peerPort: Int32, _ localPort: Int32
) -> Int32 {
    guard let transfer, let peer else { return CURL_PREREQFUNC_ABORT }
    return Unmanaged<Transfer>.fromOpaque(transfer)._withUnsafeGuaranteedRef { transfer in
        guard transfer.mayRequest() else { return CURL_PREREQFUNC_ABORT }
        if transfer.gate.isClosed {
            transfer.isTooLate = true
            return CURL_PREREQFUNC_ABORT
        }
        if transfer.hasDialled { transfer.allowRequest() }
        // Fast path: the peer is the address that was authorized.
        if let pin = transfer.pin, Int32(pin.port) == peerPort, strcmp(pin.text, peer) == 0 {
            transfer.peer = pin.peer
            transfer.recordRequest()
            return CURL_PREREQFUNC_OK
        }
        guard let address = IPAddress(String(cString: peer)), let port = UInt16(exactly: peerPort) else {
            transfer.refusal = "not an internet address"
            return CURL_PREREQFUNC_ABORT
        }
        guard case .refused(let rule) = transfer.authorize(address, port) else {
            transfer.record(peer: address, port: port)
            transfer.recordRequest()
            return CURL_PREREQFUNC_OK
        }
        transfer.refusal = rule
        return CURL_PREREQFUNC_ABORT
    }
}

func onCloseSocket(_ descriptors: UnsafeMutableRawPointer?, _ descriptor: Int32) -> Int32 {
    if let descriptors {
        Unmanaged<Descriptors>.fromOpaque(descriptors)._withUnsafeGuaranteedRef { $0.forget(descriptor) }
    }
    return close(descriptor)
}

func onSocket(
    _ easy: UnsafeMutableRawPointer?, _ descriptor: Int32, _ what: Int32, _ multi: UnsafeMutableRawPointer?,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    if let multi { Unmanaged<Multi>.fromOpaque(multi)._withUnsafeGuaranteedRef { $0.want(descriptor, what) } }
    // Any other result would end all transfers of the sender.
    return 0
}

func onTimer(_ handle: UnsafeMutableRawPointer?, _ milliseconds: Int, _ multi: UnsafeMutableRawPointer?) -> Int32 {
    if let multi {
        Unmanaged<Multi>.fromOpaque(multi)._withUnsafeGuaranteedRef { $0.setTimer(milliseconds: milliseconds) }
    }
    return 0
}
