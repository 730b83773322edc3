import CHeraldCurl
import HeraldCore
import HeraldCrypto

/// Most headers of a callback in one piece: those that its delegate always has, and behind them those that differ from
/// callback to callback, rewritten in place.
///
/// Over HTTP/1.1 libcurl gets them as the end of the request line, which is the only part of a request that it copies: it
/// prints everything else byte by byte, a hundred instructions for each, a sixth of the CPU time of a delivery. The piece
/// begins with path and version then, and ends with the name of a header whose value is the version that libcurl goes on
/// with. Its manual says (since version 8) that it sends what it gets here as it is, white space and control characters
/// included; so nothing stands there that `CallbackURL` and `CallbackHeaderRules` have not checked.
///
/// Over HTTP/2, where libcurl takes the request apart again, they are one entry of its list, with line breaks in it: for
/// each of a dozen headers that libcurl might add by itself, it compares the names of all entries first. It sees that of
/// the first line only. Belongs to one transfer. libcurl holds the address of the node.
final class HeaderBlock {
    private let node: UnsafeMutablePointer<curl_slist>
    private var text: UnsafeMutableRawBufferPointer
    /// How many bytes are the delegate's.
    private var constantCount = 0
    private var isRequestLine = false
    /// `id.timestamp.`, what is signed in front of the body.
    private let signed: UnsafeMutableRawBufferPointer

    private static let idName: StaticString = "webhook-id: "
    private static let timestampName: StaticString = "\r\nwebhook-timestamp: "
    private static let attemptName: StaticString = "\r\nherald-attempt: "
    private static let signatureName: StaticString = "\r\nwebhook-signature: "
    private static let lastName: StaticString = "\r\nherald-protocol:"
    static let maxID = EventID.maxHeaderBytes
    private static let maxDigits = 20
    /// Of what differs, without the signatures.
    private static let maxHeadCount =
        [idName, timestampName, attemptName, signatureName, lastName].reduce(maxID + 2 * maxDigits) {
            $0 + $1.utf8CodeUnitCount
        }

    init() {
        node = .allocate(capacity: 1)
        text = .allocate(byteCount: Self.maxHeadCount + Signer.maxEntryCount, alignment: 1)
        signed = .allocate(byteCount: Self.maxID + Self.maxDigits + 2, alignment: 1)
        text[0] = 0
        node.initialize(to: curl_slist(data: Self.characters(text), next: nil))
    }

    deinit {
        node.deallocate()
        text.deallocate()
        signed.deallocate()
    }

    /// As an entry.
    var first: UnsafeMutablePointer<curl_slist> { node }
    /// As it was written last, with a 0 behind it.
    var start: UnsafePointer<CChar>? { UnsafePointer(Self.characters(text)) }

    /// What it has in front of the lines that differ: lines with their ends.
    /// - Parameter isRequestLine: the first of them is the end of the request line.
    func setConstant(_ lines: [UInt8], isRequestLine: Bool) {
        self.isRequestLine = isRequestLine
        constantCount = lines.count
        makeRoom(signers: 1)
        text.copyBytes(from: lines)
        text[Self.put(Self.idName, text, constantCount)] = 0
    }

    /// What follows the entry. The caller keeps `list` alive.
    func setRest(_ list: HeaderList) {
        node.pointee.next = list.first
    }

    /// - Parameters:
    ///   - body: what is sent, and therefore signed.
    ///   - now: milliseconds since 1970 UTC.
    func write(
        _ callback: Callback, _ signers: [Signer], _ body: UnsafeRawBufferPointer, now: Int64
    ) throws(TransferError) {
        makeRoom(signers: signers.count)
        let timestamp = now / 1000
        let idStart = constantCount + Self.idName.utf8CodeUnitCount
        let idCount = try writeID(EventID.header(callback.event.id), at: idStart)
        signed[idCount] = UInt8(ascii: ".")
        let signedEnd = Self.put(timestamp, signed, idCount + 1)
        signed[signedEnd] = UInt8(ascii: ".")

        var end = Self.put(Self.timestampName, text, idStart + idCount)
        end = Self.put(timestamp, text, end)
        end = Self.put(Self.attemptName, text, end)
        end = Self.put(Int64(callback.attempt), text, end)
        end = Self.put(Self.signatureName, text, end)
        end = try sign(UnsafeRawBufferPointer(rebasing: signed[...signedEnd]), body, signers, at: end, now: now)
        if isRequestLine { end = Self.put(Self.lastName, text, end) }
        text[end] = 0
    }

    /// Writes the id behind its name, and to the start of what is signed.
    /// - Returns: its length.
    private func writeID(_ id: String, at start: Int) throws(TransferError) -> Int {
        // Native strings hand out their bytes; one that doesn't is no id of ours.
        let count = id.utf8.withContiguousStorageIfAvailable { id in
            guard (1...Self.maxID).contains(id.count), id.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return 0 }
            let bytes = UnsafeRawBufferPointer(id)
            UnsafeMutableRawBufferPointer(rebasing: text[start...]).copyMemory(from: bytes)
            signed.copyMemory(from: bytes)
            return id.count
        }
        guard let count, count > 0 else { throw .eventID }
        return count
    }

    private func makeRoom(signers: Int) {
        let needed = constantCount + Self.maxHeadCount + max(signers, 1) * Signer.maxEntryCount
        guard text.count < needed else { return }
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: needed, alignment: 1)
        larger.copyMemory(from: UnsafeRawBufferPointer(text))
        text.deallocate()
        text = larger
        node.pointee.data = Self.characters(larger)
    }

    /// - Returns: where the signatures end.
    private func sign(
        _ prefix: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, _ signers: [Signer], at start: Int, now: Int64
    ) throws(TransferError) -> Int {
        var end = start
        for signer in signers where signer.expiresAt > now {
            if end > start {
                text[end] = UInt8(ascii: " ")
                end += 1
            }
            do {
                end += try signer.write(prefix, body, to: UnsafeMutableRawBufferPointer(rebasing: text[end...]))
            } catch {
                throw .signing(error)
            }
        }
        // Never without a signature: a receiver could take it for a forgery, or worse, not.
        if end == start { throw .noSecret }
        return end
    }

    /// Both return where they stopped.
    private static func put(_ string: StaticString, _ text: UnsafeMutableRawBufferPointer, _ start: Int) -> Int {
        let source = UnsafeRawBufferPointer(start: string.utf8Start, count: string.utf8CodeUnitCount)
        UnsafeMutableRawBufferPointer(rebasing: text[start...]).copyMemory(from: source)
        return start + source.count
    }

    private static func put(_ number: Int64, _ text: UnsafeMutableRawBufferPointer, _ start: Int) -> Int {
        var end = start + 1
        var rest = number.magnitude / 10
        while rest > 0 {
            rest /= 10
            end += 1
        }
        var left = number.magnitude
        var index = end
        while index > start {
            index -= 1
            text[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: left % 10)
            left /= 10
        }
        return end
    }

    private static func characters(_ text: UnsafeMutableRawBufferPointer) -> UnsafeMutablePointer<CChar>? {
        text.baseAddress?.assumingMemoryBound(to: CChar.self)
    }
}
