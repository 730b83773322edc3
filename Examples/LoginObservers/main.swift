import Delegation

struct Account: Equatable {
    let name: String
}

final class WelcomeScreen: AuthEventsDelegate {
    func userIsLoggedIn(user: Account, sender: any DelegateSender) { print("  Welcome screen: hello, \(user.name)!") }
    func userIsLoggedOut(user: Account?, sender: any DelegateSender) {}
    func userAuthStatusChanged(user: Account?, isLoggedIn: Bool?, sender: any DelegateSender) {}
}

final class Menu: AuthEventsDelegate {
    func userIsLoggedIn(user: Account, sender: any DelegateSender) {}
    func userIsLoggedOut(user: Account?, sender: any DelegateSender) {}
    func userAuthStatusChanged(user: Account?, isLoggedIn: Bool?, sender: any DelegateSender) {
        print("  Menu: drawn again")
    }
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
let menu = Menu()
for observer in [welcomeScreen, menu] as [any AuthEventsDelegate<Account>] {
    AuthEvents<Account>.shared.addDelegate(observer)
}
// For a single event a closure is shorter.
let cache = AuthEvents<Account>.shared.observe(on: .main) { event in
    if case .loggedOut = event { print("  Cache: emptied") }
}

let form = LoginForm()
form.logIn("Ada")
form.logOut()

// A second window has its own instance. A closure is called as long as its token lives.
let window = AuthEvents<Account>()
do {
    let token = window.observe { event in
        if case .loggedIn(let user) = event { print("Second window: \(user.name) is here") }
    }
    window.userIsLoggedIn(user: Account(name: "Grace"))
    token.cancel()
}
window.userIsLoggedIn(user: Account(name: "Nobody"))
