import Foundation

/// One parser of what strangers send, and what must hold whatever they send. A property that doesn't hold traps, which
/// libFuzzer reports with the input.
enum FuzzTarget: String, CaseIterable {
    case json, schema, filter, template, pattern, event, cloudevent, delegate, url, network, head, place, query

    /// The one that `FUZZ_TARGET` names; libFuzzer calls one function, so each process runs one target.
    static let chosen: FuzzTarget = {
        let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""
        guard let target = FuzzTarget(rawValue: name) else {
            print("FUZZ_TARGET must be one of: \(allCases.map(\.rawValue).joined(separator: " "))")
            exit(64)
        }
        return target
    }()

    func run(_ bytes: [UInt8]) {
        switch self {
        case .json: fuzzJSON(bytes)
        case .schema: fuzzSchema(bytes)
        case .filter: fuzzFilter(bytes)
        case .template: fuzzTemplate(bytes)
        case .pattern: fuzzPattern(bytes)
        case .event: fuzzEvent(bytes)
        case .cloudevent: fuzzCloudEvent(bytes)
        case .delegate: fuzzDelegate(bytes)
        case .url: fuzzURL(bytes)
        case .network: fuzzNetwork(bytes)
        case .head: fuzzHead(bytes)
        case .place: fuzzPlace(bytes)
        case .query: fuzzQuery(bytes)
        }
    }
}

/// The entry point for libFuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    FuzzTarget.chosen.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

extension [UInt8] {
    /// The bytes before and after the first line break.
    var twoParts: (first: [UInt8], second: [UInt8]) {
        let end = firstIndex(of: 10) ?? endIndex
        return (Array(self[..<end]), Array(self[end...].dropFirst()))
    }

    /// The bytes as text, as the server reads values of headers: what is not UTF-8 is replaced.
    var text: String { String(decoding: self, as: UTF8.self) }
}
