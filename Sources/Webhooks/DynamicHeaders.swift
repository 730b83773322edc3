import CCurl
import Crypto
import Herald

/// The headers that differ from callback to callback, rewritten in place in front of those that don't.
///
/// Belongs to one transfer. libcurl holds the address of the first node.
final class DynamicHeaders {
    private let nodes: UnsafeMutablePointer<curl_slist>
    /// `webhook-id`, `webhook-timestamp` and `herald-attempt`, each at its place.
    private let text: UnsafeMutableRawBufferPointer
    private var signature: UnsafeMutableRawBufferPointer
    /// `id.timestamp.`, what is signed in front of the body.
    private let signed: UnsafeMutableRawBufferPointer

    private static let idName: StaticString = "webhook-id: "
    private static let timestampName: StaticString = "webhook-timestamp: "
    private static let attemptName: StaticString = "herald-attempt: "
    private static let signatureName: StaticString = "webhook-signature: "
    static let maxID = 128
    private static let timestampStart = 160
    private static let attemptStart = 208
    private static let textSize = 256

    init() {
        nodes = .allocate(capacity: 4)
        text = .allocate(byteCount: Self.textSize, alignment: 1)
        signed = .allocate(byteCount: Self.maxID + 24, alignment: 1)
        signature = .allocate(byteCount: Self.signatureName.utf8CodeUnitCount + Signer.maxEntryCount, alignment: 1)
        _ = Self.put(Self.idName, text, 0)
        _ = Self.put(Self.timestampName, text, Self.timestampStart)
        _ = Self.put(Self.attemptName, text, Self.attemptStart)
        _ = Self.put(Self.signatureName, signature, 0)
        let starts = [0, Self.timestampStart, Self.attemptStart]
        for (index, start) in starts.enumerated() {
            nodes[index] = curl_slist(data: Self.characters(text, start), next: nodes + index + 1)
        }
        nodes[3] = curl_slist(data: Self.characters(signature, 0), next: nil)
    }

    deinit {
        nodes.deallocate()
        text.deallocate()
        signature.deallocate()
        signed.deallocate()
    }

    var first: UnsafeMutablePointer<curl_slist> { nodes }

    /// The caller keeps `list` alive.
    func setRest(_ list: HeaderList) {
        nodes[3].next = list.first
    }

    /// - Parameters:
    ///   - body: what is sent, and therefore signed.
    ///   - now: milliseconds since 1970 UTC.
    func write(
        _ callback: Callback, _ signers: [Signer], _ body: UnsafeRawBufferPointer, now: Int64
    ) throws(TransferError) {
        let idStart = Self.idName.utf8CodeUnitCount
        let timestamp = now / 1000
        var count = 0
        var isSafe = false
        // Native strings hand out their bytes; one that doesn't is no id of ours.
        _ = callback.event.id.utf8.withContiguousStorageIfAvailable { id in
            guard (1...Self.maxID).contains(id.count), id.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return }
            UnsafeMutableRawBufferPointer(rebasing: text[idStart...]).copyMemory(from: UnsafeRawBufferPointer(id))
            signed.copyMemory(from: UnsafeRawBufferPointer(id))
            count = id.count
            isSafe = true
        }
        guard isSafe else { throw .eventID }
        text[idStart + count] = 0
        signed[count] = UInt8(ascii: ".")
        let signedEnd = Self.put(timestamp, signed, count + 1)
        signed[signedEnd] = UInt8(ascii: ".")
        let timestampEnd = Self.put(
            timestamp, text, Self.timestampStart + Self.timestampName.utf8CodeUnitCount)
        text[timestampEnd] = 0
        let attemptEnd = Self.put(
            Int64(callback.attempt), text, Self.attemptStart + Self.attemptName.utf8CodeUnitCount)
        text[attemptEnd] = 0
        try sign(UnsafeRawBufferPointer(rebasing: signed[...signedEnd]), body, signers, now: now)
    }

    private func sign(
        _ prefix: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, _ signers: [Signer], now: Int64
    ) throws(TransferError) {
        let name = Self.signatureName.utf8CodeUnitCount
        let needed = name + max(signers.count, 1) * Signer.maxEntryCount
        if signature.count < needed {
            let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: needed, alignment: 1)
            larger.copyMemory(from: UnsafeRawBufferPointer(signature))
            signature.deallocate()
            signature = larger
            nodes[3].data = Self.characters(larger, 0)
        }
        var end = name
        for signer in signers where signer.expiresAt > now {
            if end > name {
                signature[end] = UInt8(ascii: " ")
                end += 1
            }
            do {
                end += try signer.write(
                    prefix, body, to: UnsafeMutableRawBufferPointer(rebasing: signature[end...]))
            } catch {
                throw .signing(error)
            }
        }
        signature[end] = 0
        // Never without a signature: a receiver could take it for a forgery, or worse, not.
        if end == name { throw .noSecret }
    }

    /// Both return where they stopped.
    private static func put(_ string: StaticString, _ text: UnsafeMutableRawBufferPointer, _ start: Int) -> Int {
        let source = UnsafeRawBufferPointer(start: string.utf8Start, count: string.utf8CodeUnitCount)
        UnsafeMutableRawBufferPointer(rebasing: text[start...]).copyMemory(from: source)
        return start + source.count
    }

    private static func put(_ number: Int64, _ text: UnsafeMutableRawBufferPointer, _ start: Int) -> Int {
        var left = number.magnitude
        var end = start
        repeat {
            text[end] = UInt8(ascii: "0") + UInt8(left % 10)
            left /= 10
            end += 1
        } while left > 0
        text[start..<end].reverse()
        return end
    }

    private static func characters(_ text: UnsafeMutableRawBufferPointer, _ start: Int) -> UnsafeMutablePointer<CChar>?
    {
        text.baseAddress.map { ($0 + start).assumingMemoryBound(to: CChar.self) }
    }
}
