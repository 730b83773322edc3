/// Random bytes that one store has for good and nobody else knows, for whatever has to be hidden from clients. Prints as
/// `***`.
package struct ServerSecret: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    package static let byteCount = 32

    package let bytes: [UInt8]

    /// - Precondition: there are 32 of them.
    package init(bytes: [UInt8]) {
        precondition(bytes.count == Self.byteCount, "a server's secret has 32 bytes")
        self.bytes = bytes
    }

    /// A new one, from the system's random numbers.
    package init() {
        var generator = SystemRandomNumberGenerator()
        self.init(bytes: (0..<Self.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    package var description: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
