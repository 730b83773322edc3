import Delegation

struct Account: Equatable {
    let name: String
}

final class WelcomeScreen: AuthEventsDelegate {
    func userIsLoggedIn(user: Account) { print("  Welcome screen: hello, \(user.name)!") }
}

/// Implements only the logout.
final class Cache: AuthEventsDelegate {
    typealias User = Account
    func userIsLoggedOut() { print("  Cache: emptied") }
}

final class Menu: AuthEventsDelegate {
    typealias User = Account
    func userAuthStatusChanged() { print("  Menu: drawn again") }
}

/// Does not depend on screens, caches and menus.
struct LoginForm {
    func logIn(_ name: String) {
        print("\(name) logs in.")
        AuthEvents<Account>.shared.userIsLoggedIn(user: Account(name: name))
        AuthEvents<Account>.shared.userAuthStatusChanged()
    }

    func logOut() {
        print("The user logs out.")
        AuthEvents<Account>.shared.userIsLoggedOut()
        AuthEvents<Account>.shared.userAuthStatusChanged()
    }
}

let welcomeScreen = WelcomeScreen()
let cache = Cache()
let menu = Menu()
for observer in [welcomeScreen, cache, menu] as [any AuthEventsDelegate<Account>] {
    AuthEvents<Account>.shared.addDelegate(observer)
}

let form = LoginForm()
form.logIn("Ada")
form.logOut()

// A second window has its own instance, with a closure as a delegate, which lives as long as its token.
let window = AuthEvents<Account>()
do {
    let token = window.addHandler { event in
        if case .loggedIn(let user) = event { print("Second window: \(user.name) is here") }
    }
    window.userIsLoggedIn(user: Account(name: "Grace"))
    token.cancel()
}
window.userIsLoggedIn(user: Account(name: "Nobody"))
