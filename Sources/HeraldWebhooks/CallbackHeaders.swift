import CHeraldCurl
import HeraldCrypto
import HeraldModel

/// The headers that differ between callbacks: the first entries of libcurl's list. The headers that all callbacks of a
/// delegate share follow them.
///
/// The values are rewritten in place, so that a callback allocates no list. Owned by one transfer, whose libcurl handle
/// holds the address of the first entry.
final class CallbackHeaders {
    private static let maxID = EventID.maxHeaderBytes
    private static let maxDigits = 20

    private let nodes: UnsafeMutablePointer<curl_slist>
    private let id: Line
    private let timestamp: Line
    private let attempt: Line
    private var signature: Line
    /// `id.timestamp.`, the signed prefix of the body.
    private let signed: UnsafeMutableRawBufferPointer

    init() {
        nodes = .allocate(capacity: 4)
        id = Line("webhook-id: ", capacity: Self.maxID)
        timestamp = Line("webhook-timestamp: ", capacity: Self.maxDigits)
        attempt = Line("herald-attempt: ", capacity: Self.maxDigits)
        signature = Line("webhook-signature: ", capacity: Signer.maxEntryCount)
        signed = .allocate(byteCount: Self.maxID + Self.maxDigits + 2, alignment: 1)
        for (index, line) in [id, timestamp, attempt, signature].enumerated() {
            let next = index < 3 ? nodes + index + 1 : nil
            (nodes + index).initialize(to: curl_slist(data: line.characters, next: next))
        }
    }

    deinit {
        nodes.deallocate()
        for line in [id, timestamp, attempt, signature] { line.deallocate() }
        signed.deallocate()
    }

    var first: UnsafeMutablePointer<curl_slist> { nodes }

    /// Sets the entries that follow. The caller keeps `list` alive.
    func setRest(_ list: HeaderList) {
        nodes[3].next = list.first
    }

    /// - Parameters:
    ///   - body: the body that is sent and signed.
    ///   - now: milliseconds since 1970 UTC.
    func write(
        _ callback: Callback, _ signers: [Signer], _ body: UnsafeRawBufferPointer, now: Int64
    ) throws(TransferError) {
        let eventID = EventID.header(callback.event.id)
        let fits = (1...Self.maxID).contains(eventID.utf8.count)
        var end = fits ? eventID.write(to: signed, at: 0) : 0
        guard fits, signed[..<end].allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw TransferError("the event's id can't stand in a header")
        }
        let seconds = String(now / 1000)
        id.set(eventID)
        timestamp.set(seconds)
        attempt.set(String(callback.attempt))
        signed[end] = UInt8(ascii: ".")
        end += 1 + seconds.write(to: signed, at: end + 1)
        signed[end] = UInt8(ascii: ".")
        try sign(UnsafeRawBufferPointer(rebasing: signed[...end]), body, signers, now: now)
    }

    private func sign(
        _ prefix: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, _ signers: [Signer], now: Int64
    ) throws(TransferError) {
        if signature.reserve(signers.count * Signer.maxEntryCount) { nodes[3].data = signature.characters }
        var end = 0
        for signer in signers where signer.expiresAt > now {
            if end > 0 {
                signature.value[end] = UInt8(ascii: " ")
                end += 1
            }
            do {
                let rest = UnsafeMutableRawBufferPointer(rebasing: signature.value[end...])
                end += try signer.write(prefix, body, to: rest)
            } catch {
                throw TransferError(error.description)
            }
        }
        // A callback is never sent without a signature: a receiver could reject it as a forgery, or, worse, accept it.
        if end == 0 { throw TransferError("all secrets of the delegate have expired: rotate its secret") }
        signature.value[end] = 0
    }
}

/// The text of an entry: a constant name and a variable value, terminated by 0.
private struct Line {
    private let name: StaticString
    private var text: UnsafeMutableRawBufferPointer

    init(_ name: StaticString, capacity: Int) {
        self.name = name
        text = Self.allocate(name, capacity)
    }

    private static func allocate(_ name: StaticString, _ capacity: Int) -> UnsafeMutableRawBufferPointer {
        let count = name.utf8CodeUnitCount
        let text = UnsafeMutableRawBufferPointer.allocate(byteCount: count + capacity + 1, alignment: 1)
        text.copyMemory(from: UnsafeRawBufferPointer(start: name.utf8Start, count: count))
        text[count] = 0
        return text
    }

    func deallocate() { text.deallocate() }

    var characters: UnsafeMutablePointer<CChar>? { text.baseAddress?.assumingMemoryBound(to: CChar.self) }

    /// One byte longer than the capacity.
    var value: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: text[name.utf8CodeUnitCount...])
    }

    func set(_ newValue: String) {
        value[newValue.write(to: value, at: 0)] = 0
    }

    /// Makes room for a value. The current value is lost if the buffer moves.
    /// - Returns: whether it moved.
    mutating func reserve(_ capacity: Int) -> Bool {
        guard value.count <= capacity else { return false }
        text.deallocate()
        text = Self.allocate(name, capacity)
        return true
    }
}

extension String {
    /// Copies the bytes and returns their number.
    fileprivate func write(to buffer: UnsafeMutableRawBufferPointer, at start: Int) -> Int {
        var copy = self
        return copy.withUTF8 { bytes in
            UnsafeMutableRawBufferPointer(rebasing: buffer[start...]).copyMemory(from: UnsafeRawBufferPointer(bytes))
            return bytes.count
        }
    }
}
