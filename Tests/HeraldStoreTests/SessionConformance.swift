import HeraldModel
import HeraldTestSupport
import Testing

@Suite("Sessions and links in every store")
struct SessionConformance {
    private func session(_ number: UInt8, _ kind: Session.Kind = .session, app: AppKey = .default) -> Session {
        Session(
            digest: Array(repeating: number, count: 32), kind: kind, app: app, key: "key_\(number)",
            expiresAt: Int64(number))
    }

    @Test("they survive a restart until they are removed", arguments: StoreKind.allCases)
    func keeping(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let all = [session(1), session(2, .link, app: AppKey(rawValue: 7)), session(3, .portalSession)]
        try fixture.transaction { (transaction) throws(StoreError) in
            for session in all { try transaction.setSession(session) }
        }
        #expect(try fixture.restart().sessions.sorted { $0.expiresAt < $1.expiresAt } == all)
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.removeSession(all[1].digest)
            try transaction.removeSession([9])
        }
        #expect(try fixture.restart().sessions.sorted { $0.expiresAt < $1.expiresAt } == [all[0], all[2]])
    }
}
