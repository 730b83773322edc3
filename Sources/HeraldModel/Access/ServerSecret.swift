/// Permanent random bytes of a store, for encrypting data that is sent to clients. Prints as `***`.
package struct ServerSecret: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    package static let byteCount = 32

    package let bytes: [UInt8]

    /// - Precondition: 32 bytes.
    package init(bytes: [UInt8]) {
        precondition(bytes.count == Self.byteCount, "a server's secret has 32 bytes")
        self.bytes = bytes
    }

    /// A new secret, from the system's random numbers.
    package init() {
        var generator = SystemRandomNumberGenerator()
        self.init(bytes: (0..<Self.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    package var description: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
