import HeraldCore
import HeraldHTTP
import HeraldModel

extension Call {
    /// The response to a change of deliveries.
    /// - Parameter count: the response for the number of changed deliveries.
    func response(to outcome: DeliveryWrite.Outcome, count: (Int) -> Response) -> Response {
        if let error = outcome.error { return response(to: Problem(error)) }
        return switch outcome {
        case .count(let changed), .part(let changed, _): count(changed)
        case .replay(let replay): count(Int(replay.until - replay.cursor))
        case .erased(let erasure): count(erasure.events)
        case .failed: count(0)  // is an error
        }
    }
}
