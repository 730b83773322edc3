import HeraldCore
import HeraldJSON
import Synchronization

/// One parser for all loops. The lock is held for the parsing of one body: about a microsecond for an event of 512 bytes.
final class SharedParser: Sendable {
    /// A thousand events may hold more values than the parser takes by itself; the size of a body bounds them too.
    private let parser = Mutex(JSONParser(limits: JSONLimits(values: EventInput.maxValues)))

    /// - Parameter read: should not keep the value, whose memory serves the next body: who does costs that one new memory.
    func parse<Result: Sendable>(
        _ body: [UInt8], _ read: (JSONValue) throws(Problem) -> Result
    ) throws(Problem) -> Result {
        try parser.withLock { parser throws(Problem) in
            let value: JSONValue
            do throws(JSONError) {
                value = try parser.parse(body)
            } catch {
                throw Problem.malformedJSON(error)
            }
            return try read(value)
        }
    }
}
