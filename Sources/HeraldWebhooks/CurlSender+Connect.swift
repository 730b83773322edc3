import CHeraldCurl
import Glibc
import HeraldModel
import HeraldRuntime

// Connections to hosts with several addresses: `Connector` opens them. libcurl first looks for an open connection to the
// address that worked last. When it wants a new one, `onOpenSocket` refuses, so that the transfer comes back here before
// anything was sent.
extension CurlSender {
    private static let connectTime: Int64 = 5_000_000_000

    /// Opens a connection for a transfer that libcurl could not begin without.
    func connect(_ transfer: Transfer, _ target: Target, _ pins: [Pin], _ now: Int64) {
        // Its other callbacks wait, because a connection of HTTP/2 carries all of them.
        if target.multi == .http2, !target.usesConnectionsOnce {
            if target.connecting != nil { return target.waitingToConnect.append(transfer) }
            target.connecting = transfer
        }
        let first = target.preferred % pins.count
        let deadline = min(now + Self.connectTime, transfer.startedAt + target.timeout)
        connector.start(transfer, Array(pins[first...] + pins[..<first]), deadline: deadline, now)
    }

    /// Sends the callbacks whose connections are open, and ends those without.
    func runConnector(_ now: Int64) {
        for (transfer, result) in connector.run(now) {
            guard let target = transfer.target else { continue }
            var transfers = [transfer]
            if target.connecting === transfer {
                transfers += target.waitingToConnect
                target.connecting = nil
                target.waitingToConnect = []
            }
            switch result {
            case .connected(let pin, let socket):
                target.prefer(pin)
                transfer.socket = socket
                for transfer in transfers { dialConnected(transfer, target, pin, now) }
            case .reachable(let pin):
                target.prefer(pin)
                transfer.connectsItself = true
                for transfer in transfers { dialConnected(transfer, target, pin, now) }
            case .failed(.system(let code)):
                report(CurlResult.lack(code), now)
                fail(transfers, target, CurlResult.notConnected(code, target.url), now)
            case .failed(.refused(let rule)):
                fail(transfers, target, .failed(.addressBlocked, detail: rule), now)
            case .timedOut:
                let detail = "no address of \(target.url.host) has accepted a connection in time"
                fail(transfers, target, .failed(.timeout, detail: detail), now)
            }
        }
    }

    private func dialConnected(_ transfer: Transfer, _ target: Target, _ pin: Pin, _ now: Int64) {
        guard let callback = transfer.callback else { return }
        dial(transfer, callback, target, pin, now, isFresh: transfer.isFresh)
    }

    private func fail(
        _ transfers: [Transfer], _ target: Target, _ verdict: CallbackOutcome.Verdict, _ now: Int64
    ) {
        for transfer in transfers {
            guard let callback = transfer.callback else { continue }
            var transport = TransportRecord()
            transport.lookup = (transfer.lookedUpAt - transfer.startedAt) / 1000
            transport.connect = (now - transfer.lookedUpAt) / 1000
            release(transfer)
            endOpen(callback, target, verdict, startedAt: transfer.startedAt, transport: transport)
        }
    }

    /// Ends the wait of a transfer for its connection.
    func stopConnecting(_ transfer: Transfer, _ target: Target) {
        connector.cancel(transfer)
        target.waitingToConnect.removeAll { $0 === transfer }
        guard target.connecting === transfer else { return }
        target.connecting = nil
        let waiting = target.waitingToConnect
        target.waitingToConnect = []
        guard case .open(let pins) = target.reach else { return fail(waiting, target, CurlResult.tooLate, Self.now()) }
        for transfer in waiting { connect(transfer, target, pins, Self.now()) }
    }
}
