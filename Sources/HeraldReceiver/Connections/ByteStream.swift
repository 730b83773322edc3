import Glibc

enum Transferred {
    case bytes(Int)
    /// The descriptor has to become ready first.
    case blocked
    /// The other side sends nothing more.
    case end
    case failed
}

/// A connected, non-blocking socket, with or without TLS. Used by one thread, which closes it.
struct ByteStream {
    let descriptor: Int32
    private let tls: TLSSession?

    /// Takes ownership of the descriptor.
    init(descriptor: Int32, tls: TLSSession?) {
        self.descriptor = descriptor
        self.tls = tls
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Transferred {
        if let tls { return tls.read(into: buffer) }
        return Self.transferred { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Transferred {
        if let tls { return tls.write(bytes) }
        return Self.transferred { send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Sends an update of the keys of TLS 1.3. Without TLS it fails.
    func updateKeys() -> Transferred { tls?.updateKeys() ?? .failed }

    /// Whether reading has to wait for a write.
    var wantsToWrite: Bool { tls?.wantsToWrite ?? false }

    func close(_ ending: Ending) {
        switch ending {
        case .close:
            tls?.close()
        case .reset:
            // Closing then sends RST instead of FIN.
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        }
        Glibc.close(descriptor)
    }

    private static func transferred(_ call: () -> Int) -> Transferred {
        while true {
            let count = call()
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .blocked
            default: return .failed
            }
        }
    }
}
