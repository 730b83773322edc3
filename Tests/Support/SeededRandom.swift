import Glibc
package import HeraldReceiver

extension SeededRandom {
    package init(seed: UInt64) {
        // Scrambled, so that neighbouring seeds have nothing in common.
        var first = SeededRandom(state: seed)
        self.init(state: first.next())
    }

    package mutating func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }
    package mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    /// The seeds of a test with random histories, for the environment variable NAME: `NAME=17` is that one, `NAMES=10000` so
    /// many, from `HERALD_FIRST_SEED` on.
    package static func seeds(variable name: String, count: UInt64) -> [UInt64] {
        func number(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }
        if let one = number(name) { return [one] }
        let first = number("HERALD_FIRST_SEED") ?? 1
        return Array(first..<first + (number(name + "S") ?? count))
    }
}
