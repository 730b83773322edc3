import CCurl
import Glibc

// What libcurl calls. File-scope functions, on the thread of the sender that called libcurl, which they never call back.
// Each gets the address of an object that outlives the handle it was set on.

private let maxBody = 16 * 1024
private let maxHeaders = 64 * 1024
private let maxExcerpt = 1024

/// Takes a part of the answer's body. Returning less than came ends the transfer; the status line is known by then.
func onBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ transfer: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let transfer else { return 0 }
    return Unmanaged<Transfer>.fromOpaque(transfer)._withUnsafeGuaranteedRef { transfer in
        let room = maxExcerpt - transfer.excerpt.count
        if room > 0 {
            transfer.excerpt.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: min(count, room)))
        }
        transfer.bodyCount += count
        return transfer.bodyCount <= maxBody ? count : 0
    }
}

/// Takes one header line, or the status line.
func onHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ transfer: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let transfer else { return 0 }
    let line = UnsafeRawBufferPointer(start: bytes, count: count)
    return Unmanaged<Transfer>.fromOpaque(transfer)._withUnsafeGuaranteedRef { transfer in
        transfer.headerCount += count
        if line.starts(with: "HTTP/".utf8) {
            transfer.retryAfter = nil
        } else if isRetryAfter(line) {
            // Longer values are neither of the two forms.
            transfer.retryAfter = Array(line.dropFirst(retryAfter.utf8CodeUnitCount).prefix(64)).trimmed
        }
        return transfer.headerCount <= maxHeaders ? count : 0
    }
}

private let retryAfter: StaticString = "retry-after:"

private func isRetryAfter(_ line: UnsafeRawBufferPointer) -> Bool {
    guard line.count > retryAfter.utf8CodeUnitCount, line[0] | 0x20 == UInt8(ascii: "r") else { return false }
    for index in 0..<retryAfter.utf8CodeUnitCount where line[index] | 0x20 != retryAfter.utf8Start[index] | 0x20 {
        return false
    }
    return true
}

extension [UInt8] {
    /// Without spaces and line ends around it.
    fileprivate var trimmed: [UInt8] {
        let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        guard let start = firstIndex(where: { !isSpace($0) }), let end = lastIndex(where: { !isSpace($0) }) else {
            return []
        }
        return Array(self[start...end])
    }
}

/// The gate in front of each new connection.
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
        if case .refused(let rule) = transfer.addressGuard.judge(address: address, port: port) {
            transfer.refusal = rule
            return -1
        }
        return herald_open_socket(target)
    }
}

/// The gate in front of each request, the only one on a connection that was open already.
func onRequest(
    _ transfer: UnsafeMutableRawPointer?, _ peer: UnsafeMutablePointer<CChar>?, _ local: UnsafeMutablePointer<CChar>?,
    _ peerPort: Int32, _ localPort: Int32
) -> Int32 {
    guard let transfer, let peer else { return CURL_PREREQFUNC_ABORT }
    return Unmanaged<Transfer>.fromOpaque(transfer)._withUnsafeGuaranteedRef { transfer in
        // The plain path: the peer is the address that was judged.
        if let pin = transfer.pin, Int32(pin.port) == peerPort, strcmp(pin.text, peer) == 0 {
            return CURL_PREREQFUNC_OK
        }
        guard let address = IPAddress(String(cString: peer)), let port = UInt16(exactly: peerPort) else {
            transfer.refusal = "not an internet address"
            return CURL_PREREQFUNC_ABORT
        }
        guard case .refused(let rule) = transfer.addressGuard.judge(address: address, port: port) else {
            return CURL_PREREQFUNC_OK
        }
        transfer.refusal = rule
        return CURL_PREREQFUNC_ABORT
    }
}

func onCloseSocket(_ sender: UnsafeMutableRawPointer?, _ descriptor: Int32) -> Int32 {
    if let sender {
        Unmanaged<CurlSender>.fromOpaque(sender)._withUnsafeGuaranteedRef { $0.descriptors.forget(descriptor) }
    }
    return close(descriptor)
}

func onSocket(
    _ easy: UnsafeMutableRawPointer?, _ descriptor: Int32, _ what: Int32, _ sender: UnsafeMutableRawPointer?,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    if let sender {
        Unmanaged<CurlSender>.fromOpaque(sender)._withUnsafeGuaranteedRef { sender in
            sender.descriptors.want(
                descriptor, read: what & CURL_POLL_IN != 0, write: what & CURL_POLL_OUT != 0,
                nothing: what == CURL_POLL_REMOVE)
        }
    }
    // Anything but 0 would end all transfers of the sender.
    return 0
}

func onTimer(_ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ sender: UnsafeMutableRawPointer?) -> Int32 {
    if let sender {
        Unmanaged<CurlSender>.fromOpaque(sender)._withUnsafeGuaranteedRef { $0.setTimer(milliseconds: milliseconds) }
    }
    return 0
}
