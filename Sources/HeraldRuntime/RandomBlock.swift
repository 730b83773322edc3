import CHeraldLinux
import Glibc

/// Random numbers of the system, fetched in blocks, because a system call costs more than a number. A value; its owner
/// synchronizes access.
package struct RandomBlock: RandomNumberGenerator, Sendable {
    private var block: [UInt64] = []
    private static let size = 64

    package init() {}

    package mutating func next() -> UInt64 {
        if let number = block.popLast() { return number }
        block = Array(repeating: 0, count: Self.size)
        let count = block.withUnsafeMutableBytes { getrandom($0.baseAddress, $0.count, 0) }
        if count != Self.size * 8 {
            // Interrupted or unavailable: falls back to the standard library, which waits.
            var system = SystemRandomNumberGenerator()
            for index in block.indices { block[index] = system.next() }
        }
        return block.removeLast()
    }
}
