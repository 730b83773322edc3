import HeraldJSON
import HeraldReceiver
import HeraldRuntime
import Synchronization

/// A webhook in this process that receives the posted events.
final class BenchDelegate: Sendable {
    let id: String
    private let receiver: Receiver
    private let arrivals: Arrivals

    /// Written by the receiver's thread. The last one is in nanoseconds of the monotonic clock.
    private final class Arrivals: Sendable {
        let value = Mutex((latency: BenchHistogram(), last: Int64(0)))
    }

    /// The lease of the webhook if this process disappears, in seconds after the end of the run.
    private static let leaseSeconds = 120

    /// Listens on this machine, and registers the webhook.
    init(_ client: APIClient, type: String, subject: String, seconds: Int) throws(CommandError) {
        var configuration = Receiver.Configuration()
        configuration.maxRecordedRequests = 0
        let arrivals = Arrivals()
        self.arrivals = arrivals
        do throws(ReceiverError) {
            receiver = try Receiver(configuration) { request in
                if let sentAt = BenchEvent.time(in: request.body) {
                    arrivals.value.withLock {
                        $0.latency.add((request.receivedAt - sentAt) / 1000)
                        $0.last = request.receivedAt
                    }
                }
                return .status(204)
            }
        } catch {
            throw CommandError(error.description, exitCode: ExitCode.unavailable)
        }
        let url = receiver.url("/" + subject)
        let body = JSONWriter.document {
            $0.member("url", url)
            $0.member("events", [type])
            $0.member("subjects", [subject])
            $0.member("description", "herald bench")
            $0.member("lease_seconds", seconds + Self.leaseSeconds)
        }
        do throws(CommandError) {
            id = try client.send("POST", ["v1", "delegates"], body: body).json.text("id")
        } catch {
            receiver.close()
            throw error
        }
    }

    var count: Int { arrivals.value.withLock { $0.latency.count } }

    /// The time of each event from its due time to its arrival, and the last arrival.
    var result: (latency: BenchHistogram, last: Int64) { arrivals.value.withLock { $0 } }

    func unregister(_ client: APIClient) {
        do throws(CommandError) {
            _ = try client.send("DELETE", ["v1", "delegates", id])
        } catch {
            Output.message("\(id) is still registered, until its lease ends: \(error.description)\n")
        }
        receiver.close()
    }
}
