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

    @Test("memory keeps no user and no state of an app that was deleted")
    func deleted() {
        let state = CommittedState(Recovery())
        let deleted = app(2, "a")
        func event(_ id: String, _ type: String, _ data: String, of app: AppKey) -> Event {
            Event(app: app, id: id, type: type, subject: nil, time: 0, data: Array(data.utf8))
        }
        func hasUser(_ app: AppKey) -> Bool { state.auth.status(app, userID: "42") != nil }
        func hasState(_ app: AppKey) -> Bool { state.appState.version(app) != nil && state.appState.state(app) != nil }
        state.apply(.setApp(deleted))
        let user = #"{"user_id":"42","status":"logged_in","user":null,"cause":"c"}"#
        let events = [AppKey.default, deleted.key].flatMap { app in
            [
                event("a\(app.rawValue)", "auth.status_changed", user, of: app),
                event("s\(app.rawValue)", "app_state.changed", #"{"state":1}"#, of: app),
            ]
        }
        state.auth.published(EventBatch(first: 1, events: events))
        state.appState.published(EventBatch(first: 1, events: events))
        #expect(hasUser(deleted.key) && hasState(deleted.key))
        state.apply(.removeApp(deleted))
        #expect(!hasUser(deleted.key) && state.appState.version(deleted.key) == nil)
        #expect(state.appState.state(deleted.key) == nil && hasUser(.default) && hasState(.default))
    }
}
