import HeraldCore
import HeraldHTTP
import HeraldRuntime
import HeraldWebhooks
import Synchronization

/// Whether callbacks may reach this machine without a setting: only while Herald itself listens on loopback and nothing
/// requires a key. As soon as there is a key, there may be tenants who reach the server through a proxy of this machine,
/// and loopback is where its databases and the inner side of the proxy are.
final class LoopbackRule: Sendable {
    /// Whether callbacks may reach this machine until a key exists.
    let isPossible: Bool
    private let keys = Mutex<KeyRing?>(nil)

    init(_ settings: Settings) {
        isPossible = settings.listen.isLoopback && settings.adminKey == nil
    }

    /// Until this call, loopback is refused.
    func begin(_ keys: KeyRing) { self.keys.withLock { $0 = keys } }

    /// Any thread.
    var allowsCallbacks: Bool {
        isPossible && keys.withLock { $0?.isEmpty ?? false }
    }
}

extension Server {
    /// - Parameter allowsLoopback: whether callbacks may reach this machine without a setting.
    static func addressGuard(
        _ settings: Settings, port: UInt16, allowsLoopback: @escaping @Sendable () -> Bool
    ) -> AddressGuard {
        let own = HTTPServer.address(of: settings.listen.host).flatMap { IPAddress($0.description) }
        return AddressGuard(
            allow: settings.allowNetworks, deny: settings.denyNetworks, allowHosts: settings.allowHosts,
            denyHosts: settings.denyHosts, allowLoopback: allowsLoopback(), setting: "--allow-networks",
            ownAddresses: own.map { [($0, port)] } ?? [], interfaces: IPAddress.ofInterfaces())
    }
}
