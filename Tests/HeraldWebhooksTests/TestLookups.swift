import HeraldRuntime
import HeraldWebhooks
import Testing

/// Lookups that a test answers: at once, or never.
final class TestLookups: NameLookups {
    private let lookup: @Sendable (_ host: String) -> Resolver.Answer?
    private var ended: [(host: String, answer: Resolver.Answer)] = []

    init(_ lookup: @escaping @Sendable (_ host: String) -> Resolver.Answer?) { self.lookup = lookup }

    func begin(_ host: String) {
        if let answer = lookup(host) { ended.append((host, answer)) }
    }

    func wait(for wakeup: Wakeup, milliseconds: Int32) -> [(host: String, answer: Resolver.Answer)] {
        wakeup.wait(milliseconds: ended.isEmpty ? milliseconds : 0)
        defer { ended = [] }
        return ended
    }
}

extension Resolver {
    /// - Parameter lookup: called on the resolver's thread; `nil` for a name that no server answers.
    convenience init(_ lookup: @escaping @Sendable (_ host: String) -> Answer?) {
        self.init(makeLookups: { TestLookups(lookup) })
    }

    /// Every name has these addresses.
    convenience init(addresses: [String]) throws {
        let addresses = try addresses.map { try #require(IPAddress($0)) }
        self.init { _ in .addresses(addresses) }
    }
}
