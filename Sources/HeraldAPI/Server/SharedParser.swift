import HeraldJSON
import HeraldModel
import Synchronization

/// One parser for all loops. The lock is held for the parsing of one body: about a microsecond for an event of 512
/// bytes. A large body gets a parser of its own, so that it delays no other request.
final class SharedParser: Sendable {
    /// In bytes.
    static let maxShared = 32_768
    /// A thousand events may contain more values than the parser's default; the size of a body also bounds them.
    private static let limits = JSONLimits(values: PublicationLimits.maxValues)
    private let parser = Mutex(JSONParser(limits: limits))

    /// - Parameter read: should not keep the value, whose memory is reused for the next body; keeping it costs a new
    ///   allocation.
    func parse<Result: Sendable>(
        _ body: [UInt8], _ read: (JSONValue) throws(Problem) -> Result
    ) throws(Problem) -> Result {
        if body.count > Self.maxShared {
            var parser = JSONParser(limits: Self.limits)
            return try Self.parse(body, &parser, read)
        }
        return try parser.withLock { parser throws(Problem) in try Self.parse(body, &parser, read) }
    }

    private static func parse<Result: Sendable>(
        _ body: [UInt8], _ parser: inout JSONParser, _ read: (JSONValue) throws(Problem) -> Result
    ) throws(Problem) -> Result {
        let value: JSONValue
        do throws(JSONError) {
            value = try parser.parse(body)
        } catch {
            throw .malformedJSON(error)
        }
        return try read(value)
    }
}
