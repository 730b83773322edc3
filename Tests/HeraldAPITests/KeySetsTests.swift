import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldAPI
@testable import HeraldCore

@Suite("Key sets")
struct KeySetsTests {
    private func delegate(_ key: DelegateKey, app: AppKey = .default, ends: Int64? = nil) -> WebhookDelegate {
        let secret = SigningSecret(.v1a, bytes: [UInt8](repeating: UInt8(key), count: 32))
        return WebhookDelegate(key, secrets: [DelegateSecret(secret, expiresAt: ends)], app: app)
    }

    private func count(_ body: [UInt8]) -> Int {
        String(decoding: body, as: UTF8.self).matches(of: #/"kid"/#).count
    }

    @Test("a key set is made once for a state of the delegates, and again when one of its keys has ended")
    func kept() {
        let registry = Registry([delegate(1), delegate(2, ends: 50)])
        let sets = KeySets()
        func body(at now: Int64) -> [UInt8] { sets.body(of: .default, registry, at: now) }
        func isSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
            one.withUnsafeBufferPointer { one in
                other.withUnsafeBufferPointer { $0.baseAddress == one.baseAddress }
            }
        }
        let first = body(at: 10)
        #expect(count(first) == 2 && isSame(first, body(at: 49)))
        let ended = body(at: 50)
        #expect(count(ended) == 1 && isSame(ended, body(at: 51)))
        // Of another app.
        registry.set(delegate(3, app: AppKey(rawValue: 2)))
        #expect(isSame(ended, body(at: 52)))
        registry.set(delegate(4))
        #expect(count(body(at: 53)) == 2)
        registry.remove(delegate(1))
        registry.remove(delegate(4))
        #expect(count(body(at: 54)) == 0)
    }

    @Test("of more key sets than fit, the last one is kept")
    func bound() {
        let other = AppKey(rawValue: 2)
        let registry = Registry([delegate(1), delegate(2, app: other)])
        let sets = KeySets(maxBytes: 1)
        for app in [AppKey.default, other, .default] {
            #expect(count(sets.body(of: app, registry, at: 0)) == 1)
            #expect(sets.count == 1)
        }
    }
}
