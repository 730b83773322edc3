import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldModel

@Suite("The ids that Svix's API gives to delegates")
struct UIDTests {
    private func delegate(_ key: DelegateKey, _ uid: String?, app: AppKey = .default) -> WebhookDelegate {
        WebhookDelegate(key, app: app) { settings in
            settings.metadata = [KeyValue("other", "b")] + (uid.map { [KeyValue(WebhookSettings.uidKey, $0)] } ?? [])
        }
    }

    @Test("a delegate is found by the id that it has now, in its app")
    func found() {
        let other = AppKey(rawValue: 2)
        let registry = Registry([delegate(1, "a"), delegate(2, "a", app: other), delegate(3, nil)])
        func key(_ uid: String, _ app: AppKey = .default) -> DelegateKey? { registry.delegate(app, uid: uid)?.key }
        #expect(key("a") == 1 && key("a", other) == 2 && key("b") == nil)
        registry.set(delegate(1, "c"))
        #expect(key("a") == nil && key("c") == 1 && key("a", other) == 2)
        // The metadata of other APIs may repeat an id: the newest delegate has it.
        registry.set(delegate(4, "c"))
        #expect(key("c") == 4)
        registry.remove(delegate(4, "c"))
        #expect(key("c") == 1)
        registry.set(delegate(1, nil))
        #expect(key("c") == nil)
    }
}
