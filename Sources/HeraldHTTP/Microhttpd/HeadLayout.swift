internal import CHeraldMicrohttpd

/// Checks that every line of a header section ended with CR LF. libmicrohttpd 0.9.75 also accepts a bare LF, joins
/// folded lines, cuts a value at a NUL and drops a field without a name, before it shows the header section. But it
/// parses in place: in a correct header section each part follows directly after the previous one, and the size is the
/// sum of all parts. So the addresses of the parts reveal such changes.
///
/// Addresses are compared here, never read.
struct HeadLayout {
    private let head: UnsafePointer<UInt8>?
    /// After the last line's CR LF.
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

    /// - Parameter size: of the header section, up to the end of its empty line.
    func isWhole(_ size: Int) -> Bool { isSound && end &+ 2 == UInt(bitPattern: head) &+ UInt(bitPattern: size) }

    /// The end of a header section of this size.
    func end(headSize size: Int) -> UnsafePointer<UInt8>? { head.map { $0 + size } }
}
