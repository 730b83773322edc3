import HeraldCore

/// Logs a line when this node takes, releases or loses shards, and when its deliveries pause and resume.
final class NodeLog: NodeObserver {
    private let log: Log
    private let place: String

    /// - Parameter place: where the events are.
    init(_ log: Log, place: String) {
        self.log = log
        self.place = place
    }

    func nodeChanged(_ change: NodeChange) {
        let place = place
        switch change {
        case .moved(let move, let shards, let has, let nodes):
            let (level, message): (Log.Level, StaticString) =
                switch move {
                case .taken: (.info, "shards taken")
                case .given: (.info, "shards released to other nodes")
                case .lost: (.warning, "shards lost: the session with the database has ended")
                }
            log.write(level, message) {
                ["shards": String(shards), "has": String(has), "nodes": String(nodes)]
            }
        case .paused:
            log.write(.warning, "deliveries paused: no contact with the database") {
                ["data": place, "to_do": "check that the database can be reached; Herald tries again by itself"]
            }
        case .resumed(let nanoseconds):
            log.write(.info, "deliveries resumed") {
                ["data": place, "seconds": String(Double(nanoseconds / 1_000_000) / 1000)]
            }
        }
    }
}
