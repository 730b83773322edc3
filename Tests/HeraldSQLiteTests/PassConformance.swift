import HeraldCore
import Testing

@Suite("What every store keeps of sessions and links")
struct PassConformance {
    private func pass(_ number: UInt8, _ kind: Pass.Kind = .session, app: AppKey = .default) -> Pass {
        Pass(
            digest: Array(repeating: number, count: 32), kind: kind, app: app, key: "key_\(number)",
            expiresAt: Int64(number))
    }

    @Test("they are found after a restart until they are removed", arguments: StoreKind.allCases)
    func keeping(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let all = [pass(1), pass(2, .link, app: AppKey(rawValue: 7)), pass(3, .portalSession)]
        try fixture.transaction { (transaction) throws(StoreError) in
            for pass in all { try transaction.setPass(pass) }
        }
        #expect(try fixture.restart().passes.sorted { $0.expiresAt < $1.expiresAt } == all)
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.removePass(all[1].digest)
            try transaction.removePass([9])
        }
        #expect(try fixture.restart().passes.sorted { $0.expiresAt < $1.expiresAt } == [all[0], all[2]])
    }
}
