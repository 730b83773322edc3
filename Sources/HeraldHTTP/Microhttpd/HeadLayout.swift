internal import CHeraldMicrohttpd

/// Whether every line of a head ended with CR LF. libmicrohttpd 0.9.75 also takes a bare LF for an end, joins folded
/// lines, cuts a value at a NUL and drops a field without a name, before anyone else sees the head. But it parses in
/// place: in an honest head each part begins right behind the end of the one before, and the head is as long as all of
/// them. So where the parts lie tells what their text doesn't.
///
/// Addresses are compared here, never read.
struct HeadLayout {
    private let head: UnsafePointer<UInt8>?
    /// Behind the last line's CR LF.
    private var end: UInt
    private(set) var isSound: Bool

    init(method: RawHead.Bytes, target: UnsafePointer<CChar>?, targetCount: Int, version: RawHead.Bytes) {
        head = method.baseAddress
        let target = UInt(bitPattern: target)
        let lineEnd = UInt(bitPattern: version.baseAddress)
        let start = UInt(bitPattern: head)
        isSound =
            target == start &+ UInt(method.count) &+ 1 && lineEnd == target &+ UInt(targetCount) &+ 1
        end = lineEnd &+ UInt(version.count) &+ 2
    }

    @inline(__always)
    mutating func add(_ field: herald_mhd_field) {
        if UInt(bitPattern: field.name) != end { isSound = false }
        end = UInt(bitPattern: field.value) &+ UInt(field.value_length) &+ 2
    }

    /// - Parameter size: of the head, up to the end of its empty line.
    func isWhole(_ size: Int) -> Bool { isSound && end &+ 2 == UInt(bitPattern: head) &+ UInt(bitPattern: size) }

    /// Of the chunks behind a head of this size, which was seen to be whole.
    func bodyLayout(headSize size: Int) -> ChunkLayout? { head.map { ChunkLayout(behind: $0 + size) } }
}
