/// Random bytes that one store has for good and nobody else knows, for whatever has to be hidden from clients. Prints as
/// `***`.
public struct ServerSecret: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    public static let byteCount = 32

    public let bytes: [UInt8]

    /// - Precondition: there are 32 of them.
    public init(bytes: [UInt8]) {
        precondition(bytes.count == Self.byteCount, "a server's secret has 32 bytes")
        self.bytes = bytes
    }

    /// A new one, from the system's random numbers.
    public init() {
        var generator = SystemRandomNumberGenerator()
        self.init(bytes: (0..<Self.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    public var description: String { "***" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
