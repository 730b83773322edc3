import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20))) struct NameTests {
    @Test("a name is resolved once, and its callbacks share a connection with its Host header")
    func lookup() async throws {
        let receiver = try Receiver()
        let lookups = Mutex<[String]>([])
        let local = try #require(IPAddress("127.0.0.1"))
        let resolver = Resolver { host in
            lookups.withLock { $0.append(host) }
            return .addresses([local])
        }
        let loop = try SendingLoop(resolver: resolver)
        defer { loop.stop(closing: receiver) }
        let target = delegate("http://hooks.example:\(receiver.port)/")
        for _ in 1...3 { #expect(await loop.send(target).isSuccess) }
        #expect(await loop.send(delegate("http://hooks.example:\(receiver.port)/2", key: 2)).isSuccess)
        #expect(lookups.withLock(\.self) == ["hooks.example"])
        #expect(receiver.connectionCount == 1)
        #expect(receiver.requests.allSatisfy { $0.header("host") == "hooks.example:\(receiver.port)" })
    }

    @Test("localhost is loopback")
    func localhost() async throws {
        let receiver = try Receiver()
        let resolver = Resolver()
        let loop = try SendingLoop(resolver: resolver)
        let strict = try SendingLoop(AddressGuard(), resolver: resolver)
        defer { strict.stop() }
        defer { loop.stop(closing: receiver) }
        let target = delegate("http://localhost:\(receiver.port)/")
        #expect(await loop.send(target).isSuccess)
        let outcome = await strict.send(target)
        #expect(outcome.failure == .addressBlocked)
        #expect(outcome.detail.hasPrefix("loopback"))
        #expect(receiver.connectionCount == 1)
    }

    @Test("the next address is tried if one can't be dialled")
    func secondAddress() async throws {
        let receiver = try Receiver(address: "127.0.0.2")
        let loop = try SendingLoop(resolver: Resolver(addresses: ["127.0.0.3", "127.0.0.2"]))
        defer { loop.stop(closing: receiver) }
        let target = delegate("http://two.example:\(receiver.port)/")
        #expect(await loop.send(target).isSuccess)
        #expect(await loop.send(target).isSuccess)
        #expect(receiver.connectionCount == 1)
    }

    @Test(
        "refused addresses are never dialled, with any name",
        arguments: [
            ["10.0.0.7"], ["127.0.0.1", "10.0.0.7"], ["10.0.0.7", "127.0.0.1"], ["169.254.169.254"],
            ["::ffff:10.0.0.7"],
        ])
    func refusedName(_ addresses: [String]) async throws {
        let receiver = try Receiver()
        let loop = try SendingLoop(resolver: Resolver(addresses: addresses))
        defer { loop.stop(closing: receiver) }
        let outcome = await loop.send(delegate("http://mixed.example:\(receiver.port)/"))
        #expect(outcome.failure == .addressBlocked)
        #expect(outcome.detail.contains("private network 10.0.0.0/8") || outcome.detail.contains("metadata address"))
        #expect(receiver.connectionCount == 0)
    }

    @Test("a refused address in the URL is never dialled")
    func refusedLiteral() async throws {
        let receiver = try Receiver()
        let loop = try SendingLoop(AddressGuard())
        defer { loop.stop(closing: receiver) }
        let outcome = await loop.send(delegate(receiver.url()))
        #expect(outcome.verdict == .failed(.addressBlocked, detail: "loopback 127.0.0.0/8"))
        let unusable = await loop.send(delegate("http://u:p@example.com/"))
        #expect(unusable.failure == .addressBlocked)
        #expect(!unusable.detail.contains("u:p"))
        #expect(receiver.connectionCount == 0)
    }

    @Test("a name without an address is a failure that says so")
    func noName() async throws {
        let loop = try SendingLoop(resolver: Resolver { _ in .failed("Name or service not known") })
        defer { loop.stop() }
        let outcome = await loop.send(delegate("http://nowhere.example/"))
        #expect(outcome.verdict == .failed(.nameResolution, detail: "nowhere.example: Name or service not known"))
    }

    @Test("a lookup that this machine can't make is no failure of the receiver, is reported, and is made again")
    func lackingLookup() async throws {
        let receiver = try Receiver()
        let local = try #require(IPAddress("127.0.0.1"))
        let (lookups, reports) = (Counter(), Counter())
        let resolver = Resolver { _ in lookups.next() == 1 ? .lacking("Too many open files") : .addresses([local]) }
        let loop = try SendingLoop(resolver: resolver, change: { $0.reportLack = { _ in _ = reports.next() } })
        defer { loop.stop(closing: receiver) }
        let target = delegate("http://hooks.example:\(receiver.port)/")
        let outcome = await loop.send(target)
        #expect(outcome.verdict == .failed(.stopped, detail: "no lookup of hooks.example: Too many open files"))
        #expect(reports.value == 1)
        #expect(await loop.send(target).isSuccess)
    }

    @Test("a name whose lookup has no addresses is a failure of the lookup")
    func emptyAnswer() async throws {
        let loop = try SendingLoop(resolver: Resolver(addresses: []))
        defer { loop.stop() }
        #expect(await loop.send(delegate("http://empty.example/")).failure == .nameResolution)
    }

    @Test("a lookup without a response ends the attempt at its deadline and delays no others")
    func hangingLookup() async throws {
        let receiver = try Receiver()
        let local = try #require(IPAddress("127.0.0.1"))
        let resolver = Resolver { host in host.hasPrefix("fast") ? .addresses([local]) : nil }
        let loop = try SendingLoop(resolver: resolver)
        defer { loop.stop(closing: receiver) }
        async let slow = loop.send(delegate("http://slow.example/", key: 1, timeout: 1))
        async let same = loop.send(delegate("http://slow.example/", key: 2, timeout: 1))
        #expect(await loop.send(delegate("http://fast.example:\(receiver.port)/", key: 3)).isSuccess)
        for outcome in await [slow, same] {
            #expect(outcome.failure == .nameResolution)
            #expect(outcome.detail == "slow.example: no response to the lookup in time")
            #expect(outcome.duration >= 900_000)
        }
    }

    @Test("a thousand names without a response do not delay a name with one")
    func silentNames() async throws {
        let receiver = try Receiver()
        let local = try #require(IPAddress("127.0.0.1"))
        let resolver = Resolver { host in host == "good.example" ? .addresses([local]) : nil }
        let loop = try SendingLoop(resolver: resolver)
        defer { loop.stop(closing: receiver) }
        try await withThrowingTaskGroup(of: CallbackOutcome?.self) { group in
            for number in 0..<1000 {
                let silent = delegate("http://silent-\(number).example/", key: Int64(number), timeout: 3)
                group.addTask { await loop.send(silent) }
            }
            let good = WebhookDelegate(
                5000, url: "http://good.example:\(receiver.port)/",
                secrets: [DelegateSecret(SigningSecret(bytes: secretBytes))], app: AppKey(rawValue: 2))
            #expect(await loop.send(good).isSuccess)
            for try await outcome in group { #expect(outcome?.failure == .nameResolution) }
        }
    }

    /// Sends to a host of which the first addresses do not accept connections.
    private func send(
        dead: [String], live: String = "127.0.0.2", timeout: Int = 60, count: Int = 1
    ) async throws -> (outcomes: [CallbackOutcome], connections: Int) {
        let receiver = try Receiver(address: live)
        let holes = try dead.map { try BlackHole($0, port: receiver.port) }
        let loop = try SendingLoop(resolver: Resolver(addresses: dead + [live]))
        defer { for hole in holes { hole.close() } }
        defer { loop.stop(closing: receiver) }
        let target = delegate("http://several.example:\(receiver.port)/", timeout: timeout)
        var outcomes: [CallbackOutcome] = []
        for _ in 0..<count { outcomes.append(await loop.send(target)) }
        return (outcomes, receiver.connectionCount)
    }

    @Test("addresses that drop packets do not cost the delivery, and the one that works is remembered")
    func deadAddresses() async throws {
        let (outcomes, connections) = try await send(dead: ["127.0.0.3", "127.0.0.4"], count: 3)
        #expect(outcomes.map(\.isSuccess) == [true, true, true])
        #expect(outcomes.map { String($0.transport.peer.prefix(10)) } == ["127.0.0.2:", "127.0.0.2:", "127.0.0.2:"])
        #expect(outcomes.map(\.transport.isReused) == [false, true, true])
        #expect(connections == 1)
    }

    @Test("more dead addresses than are tried at once do not hide the one that works")
    func manyDeadAddresses() async throws {
        let dead = (3...8).map { "127.0.0.\($0)" }
        let (outcomes, _) = try await send(dead: dead)
        #expect(outcomes.map(\.isSuccess) == [true])
    }

    @Test("a host all of whose addresses drop packets is a timeout that says so")
    func onlyDeadAddresses() async throws {
        let holes = try [BlackHole("127.0.0.3"), BlackHole("127.0.0.4")]
        let loop = try SendingLoop(resolver: Resolver(addresses: ["127.0.0.3", "127.0.0.4"]))
        defer { for hole in holes { hole.close() } }
        defer { loop.stop() }
        let outcome = await loop.send(delegate("http://dead.example:\(holes[0].port)/", timeout: 1))
        // The second address has no listener at this port, which is one more way to be dead.
        #expect(outcome.failure == .timeout)
        #expect(outcome.detail == "no address of dead.example has accepted a connection in time")
        #expect(outcome.transport.connect > 0)
    }

    @Test("a host all of whose addresses refuse is a failed connection that says so")
    func refusingAddresses() async throws {
        let port = try unusedPort()
        let loop = try SendingLoop(resolver: Resolver(addresses: ["127.0.0.3", "127.0.0.2"]))
        defer { loop.stop() }
        let outcome = await loop.send(delegate("http://refusing.example:\(port)/"))
        #expect(outcome.failure == .connect)
        #expect(outcome.detail.hasPrefix("no address of refusing.example accepts connections at port"))
        #expect(outcome.detail.hasSuffix("Connection refused"))
    }
}
