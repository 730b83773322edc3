import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldRuntime

/// Logs a line at the start, after each change and once a day while the certificate of the server has expired or expires soon.
final class CertificateLog: Sendable {
    /// Seconds before the expiration in which it is soon.
    static let soon: Int64 = 14 * 86_400
    private static let dayMilliseconds = 86_400_000

    private let http: HTTPServer
    private let hub: Hub
    private let log: Log

    init(_ http: HTTPServer, _ hub: Hub, _ log: Log) {
        self.http = http
        self.hub = hub
        self.log = log
    }

    /// Checks now, and then daily. Any thread.
    func start() {
        check()
        hub.after(milliseconds: Self.dayMilliseconds) { [weak self] in
            // A hub that stops calls its timers early: another one would follow at once, and so on.
            guard let self, !self.hub.isStopping else { return }
            start()
        }
    }

    /// Any thread.
    func check() {
        guard let expiration = http.statistics.certificateExpiration else { return }
        let left = expiration - hub.clock.wall() / 1000
        let until = Timestamp(milliseconds: expiration * 1000).description
        let advice = "renew it, and send HUP to the server"
        if left <= 0 {
            log.error("the certificate has expired, and clients refuse it", ["until": until, "to_do": advice])
        } else if left < Self.soon {
            log.warning("the certificate expires soon", ["until": until, "to_do": advice])
        }
    }
}
