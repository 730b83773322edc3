import HeraldCore
import HeraldHTTP

extension Call {
    /// The response to a change of deliveries.
    /// - Parameter count: the response for the number of changed deliveries.
    func response(to outcome: DeliveryWrite.Outcome, count: (Int) -> Response) -> Response {
        switch outcome {
        case .count(let changed): count(changed)
        case .replay(let replay): count(Int(replay.until - replay.cursor))
        case .erased(let erasure): count(erasure.events)
        case .notFound(let what): Problem.notFound(what).response(requestID: requestID)
        case .damaged(let id): Problem.eventDamaged(id).response(requestID: requestID)
        case .tooMany(let why): Problem.tooMany(why).response(requestID: requestID)
        }
    }
}
