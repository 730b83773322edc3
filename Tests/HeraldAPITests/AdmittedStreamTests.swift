import HeraldCore
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldAPI

@Suite("Streams end with what let them in", .timeLimit(.minutes(20)))
struct AdmittedStreamTests {
    private final class Output: AdmittedStreams.Output, StreamThread {
        private let isOver = Atomic(false)
        var hasEnded: Bool { isOver.load(ordering: .sequentiallyConsistent) }
        var thread: any StreamThread { self }
        func perform(_ body: @escaping @Sendable () -> Void) { body() }
        func end() { isOver.store(true, ordering: .sequentiallyConsistent) }
    }

    private let clock = ManualClock()
    private let hub: Hub
    private let access: AccessControl

    init() throws {
        hub = try Hub.inMemory(clock: clock.clock)
        access = AccessControl(hub: hub, operatorKey: nil)
    }

    private func administer(_ action: AccessWrite.Action) async { await submit(action, to: hub) }

    private func submit(_ action: AccessWrite.Action, to hub: Hub) async {
        await hub.result(of: AccessWrite.self) {
            AccessWrite(hasOperatorKey: true, action: action, completion: $0)
        }
    }

    private func key(expiresIn seconds: Int64? = nil) async throws -> (id: String, principal: Principal) {
        let text = try KeyText(id: hub.ids.next("key_", time: clock.wall))
        await administer(
            .addKey(
                APIKey(
                    id: text.id, name: "", scopes: [.admin], digest: text.digest, createdAt: clock.wall,
                    expiresAt: seconds.map { clock.wall + $0 * 1_000 })))
        return (text.id, try #require(access.principal(Array(text.text.utf8)[...])))
    }

    private func signIn(_ principal: Principal) async throws -> String {
        let session = try access.newSession(principal)
        await administer(.open(session.session))
        return session.text
    }

    private func principal(_ session: String) -> Principal? { access.principal(session: Array(session.utf8)[...]) }

    private func stream(_ principal: Principal) -> Output {
        let output = Output()
        access.admitted(output, principal)
        return output
    }

    @Test("a sign-out that the store does not take at once is repeated, so that no other process accepts the session")
    func signOutUnderLoad() async throws {
        let memory = MemoryStore()
        let hub = try Hub.inMemory(store: memory)
        let access = AccessControl(hub: hub, operatorKey: "an operator's key of these tests")
        let session = try access.newSession(access.operatorPrincipal)
        await submit(.open(session.session), to: hub)
        #expect(memory.read { $0.sessions.count } == 1)
        // The writer is held, and its queue is full.
        let (isHeld, gate, isDone) = (Flag(), Flag(), Flag())
        defer { gate.set() }
        hub.afterDraining {
            isHeld.set()
            try? blockUntil("the queue is full") { gate.isSet }
        }
        try await eventually("the writer is held") { isHeld.isSet }
        for number in 1...20 {
            let drafts = (1...1_000).map { EventDraft(event: Event("a.x", id: "e\(number)-\($0)"), mayExist: false) }
            hub.publish(Publication(drafts: drafts) { _ in })
        }
        access.close(Array(session.text.utf8)[...]) { isDone.set() }
        #expect(isDone.isSet && memory.read { $0.sessions.count } == 1)
        #expect(access.principal(session: Array(session.text.utf8)[...]) == nil)
        gate.set()
        try await eventually("the store forgets the session") { memory.read { $0.sessions.isEmpty } }
        await offPool { hub.stop(grace: 0) }
    }

    @Test("signing out ends the streams of that session, including those about to start")
    func signOut() async throws {
        defer { hub.stop(grace: 0) }
        let key = try await key()
        let (own, other) = (try await signIn(key.principal), try await signIn(key.principal))
        let admitted = try #require(principal(own))
        let streams = [stream(admitted), stream(try #require(principal(other))), stream(key.principal)]
        await withCheckedContinuation { done in access.close(Array(own.utf8)[...]) { done.resume() } }
        #expect(streams.map(\.hasEnded) == [true, false, false])
        #expect(stream(admitted).hasEnded)
        for output in streams { access.ended(output) }
    }

    @Test("a stream ends within two seconds after its key is revoked at another process")
    func revokedElsewhere() async throws {
        let memory = MemoryStore()
        let (a, b) = (
            try Hub.inMemory(store: memory, clock: clock.clock), try Hub.inMemory(store: memory, clock: clock.clock)
        )
        defer { for hub in [a, b] { hub.stop(grace: 0) } }
        let access = AccessControl(hub: b, operatorKey: "an operator's key of these tests")
        let text = try KeyText(id: a.ids.next("key_", time: clock.wall))
        await submit(
            .addKey(APIKey(id: text.id, name: "", scopes: [.read], digest: text.digest, createdAt: clock.wall)), to: a)
        try await eventually("the other one has the key") { access.principal(Array(text.text.utf8)[...]) != nil }
        let admitted = try #require(access.principal(Array(text.text.utf8)[...]))
        let output = Output()
        access.admitted(output, admitted)
        await submit(.revokeKey(id: text.id), to: a)
        try await eventually("the other one refuses the key") { !access.isValid(admitted) }
        #expect(!output.hasEnded)
        clock.advance(seconds: 2)
        b.after(milliseconds: 0) {}
        try await eventually("the stream ends") { output.hasEnded }
    }

    @Test("a session that ends between two reads of the clock is over, and ends nothing else")
    func endsMeanwhile() async throws {
        let reads = Atomic(Int.max)
        // From the read on that `reads` names, the session is over.
        let stepping = clock.clock.ahead {
            reads.subtract(1, ordering: .relaxed).newValue < 0 ? SessionCookie.lifetime : 0
        }
        let hub = try Hub.inMemory(clock: stepping)
        defer { hub.stop(grace: 0) }
        let access = AccessControl(hub: hub, operatorKey: "operator-of-a-test")
        let session = try access.newSession(access.operatorPrincipal)
        await submit(.open(session.session), to: hub)
        for count in 0..<8 {
            reads.store(count, ordering: .relaxed)
            let principal = access.principal(sessions: [Array("stale".utf8)[...], Array(session.text.utf8)[...]])
            #expect(count > 0 || principal == nil)
        }
    }

    @Test("a link, its sessions and their streams end when the key that created it expires or is revoked")
    func links() async throws {
        defer { hub.stop(grace: 0) }
        let week: Int64 = 7 * 86_400_000
        let (brief, lasting) = (try await key(expiresIn: 600), try await key())
        var visitors: [(link: String, session: String, stream: Output)] = []
        for key in [brief, lasting] {
            let link = try access.new(.link, to: .default, by: key.principal, until: clock.wall + week)
            await administer(.open(link.session))
            let session = try await signIn(try #require(access.principal(link: link.text)))
            visitors.append((link.text, session, stream(try #require(principal(session)))))
        }
        #expect(principal(visitors[0].session)?.expiresAt == clock.wall + 600_000)
        #expect(principal(visitors[1].session)?.expiresAt == clock.wall + SessionCookie.lifetime)

        clock.advance(seconds: 599)
        access.endExpired()
        for visitor in visitors {
            #expect(access.principal(link: visitor.link) != nil && principal(visitor.session) != nil)
            #expect(!visitor.stream.hasEnded)
        }
        clock.advance(seconds: 1)
        #expect(access.principal(link: visitors[0].link) == nil && principal(visitors[0].session) == nil)
        #expect(access.principal(link: visitors[1].link) != nil && principal(visitors[1].session) != nil)
        // Time has gone by, and the loops that keep it are woken: they look.
        clock.advance(seconds: Double(AdmittedStreams.interval))
        hub.after(milliseconds: 0) {}
        let stream = visitors[0].stream
        try await eventually("the stream ends with the key") { stream.hasEnded }
        #expect(!visitors[1].stream.hasEnded)

        await administer(.revokeKey(id: lasting.id))
        access.endExpired()
        #expect(principal(visitors[1].session) == nil && visitors[1].stream.hasEnded)
    }

    @Test("a stream ends when its key expires, also after a rotation, or when its session does")
    func expiry() async throws {
        defer { hub.stop(grace: 0) }
        let (brief, replaced, lasting) = (try await key(expiresIn: 60), try await key(), try await key())
        let session = try await signIn(lasting.principal)
        let streams = [
            stream(brief.principal), stream(replaced.principal), stream(lasting.principal),
            stream(try #require(principal(session))),
        ]
        let text = try KeyText(id: hub.ids.next("key_", time: clock.wall))
        await administer(
            .rotateKey(id: replaced.id, replacement: .init(id: text.id, digest: text.digest), overlap: 120_000))
        func ended(after seconds: Double) -> [Bool] {
            clock.advance(seconds: seconds)
            access.endExpired()
            return streams.map(\.hasEnded)
        }
        #expect(ended(after: 59) == [false, false, false, false])
        #expect(ended(after: 1) == [true, false, false, false])
        #expect(ended(after: 60) == [true, true, false, false])
        #expect(ended(after: Double(SessionCookie.lifetime / 1_000)) == [true, true, false, true])
    }
}
