import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldWebhooks

/// The gates behind the first one: what happens when an unchecked address reaches libcurl.
@Suite(.timeLimit(.minutes(20))) struct GateTests {
    private let strict = AddressGuard()
    private let lax = AddressGuard(allowLoopback: true)

    private func sender(_ addressGuard: AddressGuard) throws -> CurlSender {
        try CurlSender(.init(version: "1", addressGuard: addressGuard), resolver: Resolver())
    }

    @Test("a socket to a refused address is not opened")
    func socketGate() throws {
        let (listener, port) = try listenOnLoopback()
        _ = listener
        let sender = try sender(strict)
        let delegate = delegate("http://127.0.0.1:\(port)/")
        sender.targets[delegate.key] = try Target(delegate, userAgent: "", addressGuard: lax)
        sender.start(Callback(token: 1, delegate: delegate, event: event(), attempt: 1))
        var outcomes: [CallbackOutcome] = []
        try blockUntil("the callback ends") {
            sender.poll(nanoseconds: 1_000_000_000) { outcomes.append($1) }
            return !outcomes.isEmpty
        }
        #expect(outcomes.map(\.verdict) == [.failed(.addressBlocked, detail: "loopback 127.0.0.0/8")])
        sender.close { _, _ in }
    }

    @Test(
        "loopback is refused before a connection is searched, in each form",
        arguments: ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::127.0.0.1]"])
    func loopbackForms(_ host: String) throws {
        let sender = try sender(strict)
        let delegate = delegate("http://\(host):9/")
        // As it was before the first access key.
        sender.targets[delegate.key] = try Target(delegate, userAgent: "", addressGuard: lax)
        sender.start(Callback(token: 1, delegate: delegate, event: event(), attempt: 1))
        #expect(sender.pool.all.isEmpty)
        #expect(sender.ended.map(\.outcome.failure) == [.addressBlocked])
        sender.close { _, _ in }
    }

    @Test("a request on an open connection to a refused address is not sent")
    func requestGate() throws {
        let sender = try sender(strict)
        let transfer = Transfer(
            index: 0, descriptors: sender.descriptors, openBodies: sender.openBodies, addressGuard: strict,
            gate: sender.gate, caFile: nil)
        let pointer = Unmanaged.passUnretained(transfer).toOpaque()
        func verdict(_ peer: String) -> Int32 {
            var text = peer.utf8CString.map { $0 }
            return onRequest(pointer, &text, nil, 80, 0)
        }
        for peer in ["127.0.0.1", "10.0.0.1", "::1", "/run/socket", ""] {
            transfer.refusal = nil
            #expect(verdict(peer) == 1)
            #expect(transfer.refusal != nil)
        }
        #expect(verdict("8.8.8.8") == 0)
        sender.close { _, _ in }
    }

    @Test("a response that was read by a timer has as long for its body as any other")
    func bodyDeadline() throws {
        let sender = try sender(strict)
        let transfer = Transfer(
            index: 0, descriptors: sender.descriptors, openBodies: sender.openBodies, addressGuard: strict,
            gate: sender.gate, caFile: nil)
        #expect(sender.openBodies.nextDeadline == .max)
        transfer.decidedAt = 7
        // The thread sleeps before it has sorted the bodies of this turn.
        sender.openBodies.insert(transfer)
        #expect(sender.openBodies.nextDeadline == 7 + OpenBodies.time)
        sender.close { _, _ in }
    }

    @Test("the authorities of the system are in one file, which libcurl reads once for many connections")
    func authorities() throws {
        let file = try #require(CurlLibrary.authorities)
        #expect(!file.isEmpty && !file.hasSuffix("/"))
    }

    @Test("a callback that has waited for a token has the usual time for the lookup of its host")
    func lookupAfterToken() throws {
        let resolver = Resolver { _ in nil }
        defer { resolver.close() }
        let sender = try CurlSender(.init(version: "1", addressGuard: lax), resolver: resolver)
        let delegate = delegate("http://hooks.example/", timeout: 60)
        let target = try Target(delegate, userAgent: "", addressGuard: lax)
        let callback = Callback(token: 1, delegate: delegate, event: event(), attempt: 1)
        let now = CurlSender.now()
        sender.reach(WaitingCallback(callback: callback, target: target, startedAt: now - 20_000_000_000), now)
        #expect(sender.nextLookupDeadline == now + 5_000_000_000)
        sender.close { _, _ in }
    }

    @Test("a released sender frees its resources")
    func dropped() async throws {
        let gate = ReceiverGate()
        let receiver = try Receiver { _ in .held(gate) }
        defer {
            gate.open()
            receiver.close()
        }
        weak var gone: Transfer?
        do {
            let sender = try sender(lax)
            let delegate = delegate(receiver.url())
            sender.start(Callback(token: 1, delegate: delegate, event: event(), attempt: 1))
            sender.poll(nanoseconds: 0) { _, _ in }
            gone = sender.pool.all.first
            #expect(gone != nil)
        }
        #expect(gone == nil)
    }

    @Test("transfers are used again, but never their libcurl handles")
    func handles() async throws {
        let receiver = try Receiver()
        let sender = try sender(lax)
        defer { receiver.close() }
        let delegates = (1...3).map { delegate(receiver.url("/\($0)"), key: DelegateKey($0)) }
        for delegate in delegates + delegates {
            sender.start(Callback(token: 1, delegate: delegate, event: event(), attempt: 1))
            var isDone = false
            try blockUntil("the callback ends") {
                sender.poll(nanoseconds: 1_000_000_000) { _, outcome in
                    #expect(outcome.isSuccess)
                    isDone = true
                }
                return isDone
            }
        }
        #expect(sender.pool.all.count == 1)
        #expect(sender.pool.all.allSatisfy { $0.easy == nil && $0.target == nil })
        #expect(sender.openCount == 0)
        #expect(sender.targets.values.allSatisfy { $0.openCount == 0 })
        sender.close { _, _ in }
    }

    @Test("idle delegates beyond the limit are forgotten")
    func idleTargets() throws {
        let sender = try sender(strict)
        for key in 1...5000 {
            let delegate = delegate("http://10.0.0.1/", key: DelegateKey(key))
            sender.start(Callback(token: key, delegate: delegate, event: event(), attempt: 1))
        }
        #expect(sender.targets.count <= 4096)
        var count = 0
        sender.close { _, _ in count += 1 }
        #expect(count == 5000)
    }
}
