/// A parsed text: its bytes, and one ``Node`` for each value in the order of the text.
///
/// The parser manages its memory manually, because growing arrays would take longer than the scanning. Why it is safe:
///
/// - Every index that leaves this module comes from the scanner, and the scanner writes only below the capacities
///   reserved by `fill`: a value takes at least one byte, so `min(bytes, limits.values)` nodes suffice.
/// - The bytes are followed by eight zeros. A zero is never part of a JSON text, so every loop of the scanner ends
///   there without counting, and words of eight bytes can be read everywhere.
///
/// `@unchecked Sendable` is correct because `fill` is only called on a tape with a single reference; while values use
/// it, it is constant.
final class Tape: @unchecked Sendable {
    private(set) var bytes: UnsafeMutablePointer<UInt8>
    private(set) var byteCount = 0
    private var byteCapacity: Int

    private(set) var nodes: UnsafeMutablePointer<Node>
    private var keys: UnsafeMutablePointer<KeyEntry>
    private var nodeCapacity: Int

    private var frames: UnsafeMutablePointer<Frame>
    private var frameCapacity: Int

    private var keyTable = KeyTable()

    static let padding = 8

    init() {
        byteCapacity = 1024
        nodeCapacity = 128
        frameCapacity = 64
        bytes = .allocate(capacity: byteCapacity + Tape.padding)
        nodes = .allocate(capacity: nodeCapacity)
        keys = .allocate(capacity: nodeCapacity)
        frames = .allocate(capacity: frameCapacity)
    }

    deinit {
        bytes.deallocate()
        nodes.deallocate()
        keys.deallocate()
        frames.deallocate()
    }

    /// Copies the text and scans it. After an error the tape must not be read.
    func fill(from text: UnsafeBufferPointer<UInt8>, limits: JSONLimits) throws(JSONError) {
        guard text.count < Int(Int32.max) else {
            throw JSONError(reason: .tooLarge, offset: Int(Int32.max), line: 1, column: 1)
        }
        let nodeLimit = max(0, min(text.count, limits.values))
        reserve(bytes: text.count, nodes: nodeLimit, frames: limits.depth)
        if let base = text.baseAddress { bytes.update(from: base, count: text.count) }
        UnsafeMutableRawPointer(bytes + text.count).storeBytes(of: 0, as: UInt64.self)
        byteCount = text.count

        var scanner = Scanner(
            bytes: UnsafePointer(bytes), end: byteCount, nodes: nodes, nodeLimit: nodeLimit,
            keys: keys, frames: frames, limits: limits, keyTable: keyTable)
        try scanner.scan()
    }

    /// Reserves memory; existing content is lost.
    private func reserve(bytes: Int, nodes: Int, frames: Int) {
        if bytes > byteCapacity {
            byteCapacity = Tape.roomy(bytes)
            self.bytes.deallocate()
            self.bytes = .allocate(capacity: byteCapacity + Tape.padding)
        }
        if nodes > nodeCapacity {
            nodeCapacity = Tape.roomy(nodes)
            self.nodes.deallocate()
            self.keys.deallocate()
            self.nodes = .allocate(capacity: nodeCapacity)
            self.keys = .allocate(capacity: nodeCapacity)
        }
        if frames > frameCapacity {
            frameCapacity = frames
            self.frames.deallocate()
            self.frames = .allocate(capacity: frameCapacity)
        }
    }

    /// A quarter more than requested, so that slowly growing texts do not allocate each time.
    private static func roomy(_ count: Int) -> Int { count + count / 4 }
}
