import HeraldCore
import HeraldHTTP

extension Call {
    /// The answer to a change of deliveries.
    /// - Parameter count: the answer when so many were changed.
    func response(to outcome: DeliveryWrite.Outcome, count: (Int) -> Response) -> Response {
        switch outcome {
        case .count(let changed): count(changed)
        case .replay(let replay): count(Int(replay.until - replay.cursor))
        case .erased(let erasure): count(erasure.events)
        case .notFound(let what): Problem.notFound(what).response(requestID: requestID)
        case .tooMany(let why): Problem.tooMany(why).response(requestID: requestID)
        }
    }
}
