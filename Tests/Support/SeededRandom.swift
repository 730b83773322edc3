package import HeraldReceiver

extension SeededRandom {
    package init(seed: UInt64) {
        // Scrambled, so that neighbouring seeds have nothing in common.
        var first = SeededRandom(state: seed)
        self.init(state: first.next())
    }

    package mutating func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }
    package mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
}
