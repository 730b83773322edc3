#if canImport(UIKit) && !os(watchOS)
    import Delegation
    import UIKit

    public nonisolated struct Account: Sendable {
        public let name: String
        public init(name: String) { self.name = name }
    }

    /// Notified of logins while it lives.
    public final class ProfileController: UIViewController, @MainActor AuthEventsDelegate {
        private let name = UILabel()

        public override func viewDidLoad() {
            super.viewDidLoad()
            view.addSubview(name)
            AuthEvents<Account>.shared.addDelegate(self, initial: true)
        }

        public func userIsLoggedIn(user: Account, sender: any DelegateSender) { name.text = user.name }
        public func userIsLoggedOut(user: Account?, sender: any DelegateSender) { name.text = nil }
        public func userAuthStatusChanged(user: Account?, isLoggedIn: Bool?, sender: any DelegateSender) {}
    }

    public nonisolated enum Connection: Sendable {
        case online, offline
        public static let current = ObservedState(Connection.offline)
    }

    /// Notified of the state while it is on the screen.
    public final class StatusController: UIViewController, @MainActor StateDelegate {
        public override func viewWillAppear(_ animated: Bool) {
            super.viewWillAppear(animated)
            Connection.current.addDelegate(self, initial: true)
        }

        public override func viewWillDisappear(_ animated: Bool) {
            super.viewWillDisappear(animated)
            Connection.current.removeDelegate(self)
        }

        public func stateDidChange(from old: Connection, to new: Connection, sender: any DelegateSender) {
            title = new == .online ? "Online" : "Offline"
        }
    }

    /// A closure that writes a property, as long as the controller lives.
    public final class BannerController: UIViewController {
        private let banner = UILabel()
        private var token: DelegateToken?

        public override func viewDidLoad() {
            super.viewDidLoad()
            view.addSubview(banner)
            token = Connection.current.observe(on: .main, initial: true) { [weak self] _, new in
                self?.banner.text = new == .offline ? "No connection" : nil
            }
        }
    }

    /// Return passes the focus on, and leaves the form after the last field.
    public final class SignUpController: UIViewController, FormNavigation {
        public let exitIdentifier: String? = "showHome"

        public func textFieldShouldReturn(_ field: UITextField) -> Bool { textFieldDidReturn(field) }
    }
#endif
