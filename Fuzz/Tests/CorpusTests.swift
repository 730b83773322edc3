import Foundation
import HeraldTestSupport
import Testing

@Suite("Parsers, under what fuzzers found")
struct CorpusTests {
    /// A promise that is broken ends the process, with the line that says it.
    @Test("every input that is kept, and two thousand much like them", arguments: FuzzTarget.allCases)
    func inputs(_ target: FuzzTarget) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Corpus/\(target.rawValue)")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let kept = try files.sorted { $0.path < $1.path }.map { Array(try Data(contentsOf: $0)) }
        try #require(!kept.isEmpty)
        for input in kept { target.run(input) }
        var random = SeededRandom(seed: 1)
        for _ in 0..<2_000 { target.run(Self.variation(of: kept, &random)) }
    }

    /// One of them with a few bytes changed, put in or taken out, or with the rest of another one.
    private static func variation(of inputs: [[UInt8]], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = inputs[random.number(0...inputs.count - 1)]
        for _ in 0..<random.number(1...4) {
            let place = random.number(0...bytes.count)
            switch random.number(0...3) {
            case 0: bytes.insert(UInt8(random.number(0...255)), at: place)
            case 1 where place < bytes.count: bytes[place] = UInt8(random.number(0...255))
            case 2 where place < bytes.count: bytes.removeSubrange(place..<min(bytes.count, place + 4))
            default: bytes = Array(bytes[..<place] + inputs[random.number(0...inputs.count - 1)].dropFirst(place))
            }
        }
        return bytes
    }
}
