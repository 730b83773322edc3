import HeraldDelivery
import HeraldModel

/// Sessions that share a limit, with their shares by app and key. A pure value.
///
/// Each operation takes a time that does not depend on the number of sessions, but for the steps of a heap.
struct SessionShares {
    private struct Owner: Hashable {
        let app: AppKey
        let key: String
    }

    /// By the SHA-256 of their texts.
    private(set) var sessions: [[UInt8]: Session] = [:]
    private var ends = SessionEnds()
    private var endsOfOwners: [Owner: SessionEnds] = [:]
    private var apps = ShareCounts<AppKey>()
    private var keys: [AppKey: ShareCounts<String>] = [:]

    var count: Int { sessions.count }

    func count(of app: AppKey) -> Int { apps.count(of: app) }

    /// The sessions of a key, which may be for any app. A session that was replaced may occur twice.
    func sessions(ofKey key: String) -> [Session] {
        keys.keys.flatMap { sessions(of: Owner(app: $0, key: key)) }
    }

    /// The sessions of an app. A session that was replaced may occur twice.
    func sessions(of app: AppKey) -> [Session] {
        keys[app]?.all.flatMap { sessions(of: Owner(app: app, key: $0)) } ?? []
    }

    private func sessions(of owner: Owner) -> [Session] { endsOfOwners[owner]?.all(sessions) ?? [] }

    /// Adds or replaces.
    /// - Returns: whether it is new.
    mutating func set(_ session: Session) -> Bool {
        if sessions[session.digest] == session { return false }
        let old = remove(session.digest)
        sessions[session.digest] = session
        apps.add(session.app)
        keys[session.app, default: ShareCounts()].add(session.key)
        ends.add(session)
        endsOfOwners[Owner(app: session.app, key: session.key), default: SessionEnds()].add(session)
        return old == nil
    }

    @discardableResult
    mutating func remove(_ digest: [UInt8]) -> Session? {
        guard let old = sessions.removeValue(forKey: digest) else { return nil }
        apps.remove(old.app)
        keys[old.app]?.remove(old.key)
        if apps.count(of: old.app) == 0 { keys[old.app] = nil }
        ends.prune(to: sessions.count, sessions)
        let owner = Owner(app: old.app, key: old.key)
        let rest = keys[old.app]?.count(of: old.key) ?? 0
        if rest == 0 {
            endsOfOwners[owner] = nil
        } else {
            endsOfOwners[owner]?.prune(to: rest, sessions)
        }
        return old
    }

    /// Sessions that have expired, without removing them.
    mutating func expired(at time: Int64, limit: Int) -> [Session] {
        ends.first(limit, until: time, sessions)
    }

    /// The session to end in favor of a new one: of the app that has most, of its key that has most, the one that ends first.
    /// The app and the key of the new session come before others that have as many.
    mutating func displaced(by session: Session) -> Session? {
        guard let app = apps.largest(preferring: session.app),
            let key = keys[app]?.largest(preferring: app == session.app ? session.key : nil)
        else { return nil }
        return endsOfOwners[Owner(app: app, key: key)]?.first(1, until: .max, sessions).first
    }
}

/// Sessions in the order in which they end. Removed ones stay until they are at the front, or are more than the others.
private struct SessionEnds {
    private var queue = TimerQueue<Session>()

    mutating func add(_ session: Session) { queue.insert(session, due: session.expiresAt) }

    /// - Parameters:
    ///   - count: the number of its sessions that were not removed.
    ///   - sessions: all that were not removed.
    mutating func prune(to count: Int, _ sessions: [[UInt8]: Session]) {
        if queue.count > 2 * count + 16 { queue.removeAll { sessions[$0.digest] != $0 } }
    }

    /// In no order.
    func all(_ sessions: [[UInt8]: Session]) -> [Session] {
        queue.payloads.filter { sessions[$0.digest] == $0 }
    }

    /// The sessions that end first, until a time. They stay in the queue.
    mutating func first(_ limit: Int, until time: Int64, _ sessions: [[UInt8]: Session]) -> [Session] {
        var found: [Session] = []
        while found.count < limit, let session = queue.popDue(now: time) {
            if sessions[session.digest] == session { found.append(session) }
        }
        for session in found { add(session) }
        return found
    }
}

/// How many things each name has, and which name has most. Each operation takes constant time.
struct ShareCounts<Name: Hashable> {
    private var counts: [Name: Int] = [:]
    /// The names by their counts.
    private var names: [Int: Set<Name>] = [:]
    private var most = 0

    /// The names that have some.
    var all: Dictionary<Name, Int>.Keys { counts.keys }

    func count(of name: Name) -> Int { counts[name] ?? 0 }

    mutating func add(_ name: Name) { set(name, to: count(of: name) + 1) }

    mutating func remove(_ name: Name) {
        let old = count(of: name)
        if old > 0 { set(name, to: old - 1) }
    }

    /// The name that has most: this one, unless another has more.
    func largest(preferring name: Name?) -> Name? {
        if let name, most > 0, counts[name] == most { return name }
        return names[most]?.first
    }

    /// - Parameter new: the count of before, and one more or less.
    private mutating func set(_ name: Name, to new: Int) {
        let old = count(of: name)
        names[old]?.remove(name)
        if let others = names[old], others.isEmpty { names[old] = nil }
        counts[name] = new > 0 ? new : nil
        if new > 0 { names[new, default: []].insert(name) }
        most = max(most, new)
        // Only the name itself can have left the largest count: it has one less now.
        if names[most] == nil { most = new }
    }
}
