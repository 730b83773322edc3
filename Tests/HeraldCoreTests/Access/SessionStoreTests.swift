import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Sessions in memory")
struct SessionStoreTests {
    private let other = AppKey(rawValue: 2)

    private func session(
        _ number: Int, _ app: AppKey = .default, key: String = "key_1", kind: Session.Kind = .session,
        expiresAt: Int64
    ) -> Session {
        Session(
            digest: [UInt8(number >> 8 & 255), UInt8(number & 255)], kind: kind, app: app, key: key,
            expiresAt: expiresAt)
    }

    /// With a limit of 100.
    private func small() -> SessionStore { SessionStore([], KeptMemory(limit: 1 << 16)) }

    private func displaced(_ sessions: SessionStore, by session: Session) -> [[UInt8]] {
        sessions.displaced(by: session, at: 0, maxExpired: 100)?.map(\.digest) ?? [[9]]
    }

    @Test("a key that opens many sessions ends its own, not those of other keys or apps")
    func owners() {
        let sessions = small()
        #expect(sessions.limit == 100)
        sessions.set(session(0, other, expiresAt: 1))
        sessions.set(session(1, key: "key_2", expiresAt: 2))
        for number in 2..<100 { sessions.set(session(number, expiresAt: 1_000 - Int64(number))) }
        // The last one of the key with most ends first, those of the others end before it.
        let own = [session(99, expiresAt: 0).digest]
        #expect(displaced(sessions, by: session(100, expiresAt: 5_000)) == own)
        #expect(displaced(sessions, by: session(100, key: "key_2", expiresAt: 5_000)) == own)
        #expect(displaced(sessions, by: session(100, other, expiresAt: 5_000)) == own)
        #expect(displaced(sessions, by: session(100, kind: .link, expiresAt: 5_000)) == [])
        sessions.remove(session(50, expiresAt: 0).digest)
        #expect(displaced(sessions, by: session(100, expiresAt: 5_000)) == [])
    }

    @Test("of owners with as many sessions, the one that opens another loses one")
    func equal() {
        let sessions = small()
        for number in 0..<100 {
            sessions.set(session(number, key: number % 2 == 0 ? "even" : "odd", expiresAt: 100 + Int64(number)))
        }
        #expect(displaced(sessions, by: session(100, key: "even", expiresAt: 500)) == [[0, 0]])
        #expect(displaced(sessions, by: session(100, key: "odd", expiresAt: 500)) == [[0, 1]])
        for number in 0..<50 { sessions.remove([0, UInt8(number)]) }
        for number in 0..<50 { sessions.set(session(number, other, expiresAt: 1 + Int64(number))) }
        #expect(displaced(sessions, by: session(100, other, expiresAt: 500)) == [[0, 0]])
        #expect(displaced(sessions, by: session(100, key: "even", expiresAt: 500)) == [[0, 50]])
    }

    @Test("expired sessions and links make room, and links beyond their limit are refused")
    func expired() {
        let sessions = small()
        for number in 0..<100 {
            let app = AppKey(rawValue: Int64(1 + number % 10))
            sessions.set(session(number, app, kind: .link, expiresAt: Int64(number)))
            sessions.set(session(1_000 + number, other, expiresAt: 50))
        }
        let link = session(500, AppKey(rawValue: 11), kind: .link, expiresAt: 1_000)
        #expect(sessions.displaced(by: link, at: -1, maxExpired: 9) == nil)
        let first = sessions.displaced(by: link, at: 2, maxExpired: 9) ?? []
        #expect(first.map(\.digest) == [[0, 0], [0, 1], [0, 2]])
        #expect(sessions.displaced(by: link, at: 60, maxExpired: 9)?.count == 18)
        #expect(sessions.displaced(by: session(501, expiresAt: 1_000), at: 49, maxExpired: 2)?.count == 3)
        #expect(sessions.find([0, 0], at: -1) != nil && sessions.find([0, 0], at: 0) == nil)
    }

    @Test("an app leaves links to the others")
    func links() {
        let sessions = small()
        func mayOpen(_ app: AppKey) -> Bool {
            sessions.displaced(by: session(500, app, kind: .link, expiresAt: 9), at: 0, maxExpired: 9) != nil
        }
        for number in 0..<75 {
            #expect(mayOpen(.default))
            sessions.set(session(number, kind: .link, expiresAt: 5))
        }
        #expect(!mayOpen(.default))
        for number in 75..<93 {
            #expect(mayOpen(other))
            sessions.set(session(number, other, kind: .link, expiresAt: 5))
        }
        #expect(!mayOpen(other) && mayOpen(AppKey(rawValue: 3)))
        for number in 100..<106 {
            sessions.set(session(number, AppKey(rawValue: Int64(number)), kind: .link, expiresAt: 5))
        }
        #expect(mayOpen(AppKey(rawValue: 3)))
        sessions.set(session(107, AppKey(rawValue: 107), kind: .link, expiresAt: 5))
        #expect(!mayOpen(AppKey(rawValue: 3)), "there are 100")
    }

    @Test("the sessions and links of a key, or of an app, are found without those of others")
    func found() {
        let sessions = small()
        sessions.set(session(1, key: "key_1", expiresAt: 1))
        sessions.set(session(2, other, key: "key_1", kind: .link, expiresAt: 2))
        sessions.set(session(3, other, key: "key_2", kind: .portalSession, expiresAt: 3))
        sessions.set(session(4, key: "key_2", expiresAt: 4))
        #expect(Set(sessions.sessions(ofKey: "key_1").map(\.digest)) == [[0, 1], [0, 2]])
        #expect(Set(sessions.sessions(of: other).map(\.digest)) == [[0, 2], [0, 3]])
        #expect(sessions.sessions(ofKey: "key_3").isEmpty && sessions.sessions(of: AppKey(rawValue: 3)).isEmpty)
    }

    @Test(
        "the shares are those of the sessions, after any changes",
        arguments: SeededRandom.seeds(variable: "HERALD_SESSION_SEED", count: 4))
    func anyChanges(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var shares = SessionShares()
        for _ in 0..<1_000 {
            let number = Int.random(in: 0..<60, using: &random)
            if Bool.random(using: &random) {
                let app = AppKey(rawValue: Int64.random(in: 1...3, using: &random))
                let key = "key_\(Int.random(in: 1...3, using: &random))"
                let end = Int64.random(in: 0..<99, using: &random)
                let isNew = shares.sessions[session(number, expiresAt: 0).digest] == nil
                #expect(shares.set(session(number, app, key: key, expiresAt: end)) == isNew)
            } else {
                shares.remove(session(number, expiresAt: 0).digest)
            }
            let all = shares.sessions.values
            let apps = Dictionary(grouping: all) { $0.app }
            for number in 1...3 {
                let (app, key) = (AppKey(rawValue: Int64(number)), "key_\(number)")
                #expect(Set(shares.sessions(of: app).map(\.digest)) == Set((apps[app] ?? []).map(\.digest)))
                let ofKey = all.filter { $0.key == key }
                #expect(Set(shares.sessions(ofKey: key).map(\.digest)) == Set(ofKey.map(\.digest)))
            }
            let most = apps.values.map(\.count).max()
            let found = shares.displaced(by: session(99, expiresAt: 0))
            #expect(found.flatMap { apps[$0.app]?.count } == most)
            if let found {
                let keys = Dictionary(grouping: apps[found.app] ?? []) { $0.key }
                #expect(keys[found.key]?.count == keys.values.map(\.count).max())
                #expect(keys[found.key]?.map(\.expiresAt).min() == found.expiresAt)
            }
            #expect(
                Set(shares.expired(at: 50, limit: 99).map(\.digest))
                    == Set(all.filter { $0.expiresAt <= 50 }.map(\.digest)))
        }
    }
}
