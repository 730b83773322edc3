import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldModel

@Suite("Delegates in memory")
struct RegistryTests {
    private let other = AppKey(rawValue: 2)

    private func delegate(_ key: DelegateKey, _ app: AppKey = .default) -> WebhookDelegate {
        WebhookDelegate(key, app: app)
    }

    @Test("a list examines only the delegates of its app, newest first")
    func list() {
        let registry = Registry([delegate(1), delegate(2, other), delegate(3), delegate(4, other)])
        registry.set(delegate(5))
        #expect(registry.list(.default).map(\.key) == [5, 3, 1] && registry.list(other).map(\.key) == [4, 2])
        #expect(registry.list(.default, before: "dlg_4").map(\.key) == [3, 1])
        #expect(registry.list(.default, before: "dlg_5", limit: 1).map(\.key) == [3])
        #expect(registry.delegate(other, id: "dlg_4")?.key == 4 && registry.delegate(.default, id: "dlg_4") == nil)
        #expect(registry.all.map(\.key).sorted() == [1, 2, 3, 4, 5])
        #expect(registry.count == 5 && registry.count(of: .default) == 3)
    }

    @Test("nothing is kept of an app whose delegates were removed, and its version is still another one")
    func removed() {
        let registry = Registry([delegate(1)])
        var versions = [registry.version(of: other)]
        for key in [2, 3] as [DelegateKey] {
            registry.set(delegate(key, other))
            versions.append(registry.version(of: other))
            #expect(registry.keptApps == 2)
            registry.remove(delegate(key, other))
            versions.append(registry.version(of: other))
            #expect(registry.keptApps == 1 && registry.count(of: other) == 0)
        }
        #expect(Set(versions).count == versions.count)
    }
}
