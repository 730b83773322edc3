import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldModel

@Suite("Apps in memory")
struct AppCatalogueTests {
    private func app(_ key: Int64, _ name: String) -> App {
        App(
            key: AppKey(rawValue: key), id: "app_\(key)", settings: App.Settings(name: name), createdAt: 1,
            updatedAt: 1, version: 1)
    }

    @Test("an app keeps a name that another one has left, whichever change of another process comes first")
    func names() {
        let first = app(2, "a")
        let second = app(3, "b")
        for secondName in ["c", "a"] {
            let apps = AppCatalogue([first, second], next: AppKey(rawValue: 4))
            // The second app has left its name before the first one took it, and was changed again.
            apps.set(app(2, "b"))
            apps.set(app(3, secondName))
            #expect(apps.find("b")?.key == first.key)
            #expect(apps.find(secondName)?.key == second.key)
        }
        let apps = AppCatalogue([first, second], next: AppKey(rawValue: 4))
        apps.set(app(2, "b"))
        apps.remove(second)
        #expect(apps.find("b")?.key == first.key && apps.find("app_3") == nil && apps.find("a") == nil)
    }
}
