package import HeraldModel

/// Finds the lanes for an event by its type. The cost depends on the number of matching lanes, not of registered ones.
///
/// Confined to one delivery loop. Lanes are identified by their index there.
package struct Router {
    private var any = LaneList()
    private var exact: [String: LaneList] = [:]
    private var prefixes: [String: LaneList] = [:]
    /// Cached results of `exact` and `prefixes` per type, so that prefixes are not searched for each event. Bounded, because
    /// publishers choose the types.
    private var resolved: [String: [Int]] = [:]
    /// The memory that these take, in words of eight bytes.
    private(set) var resolvedWords = 0

    static let maxResolvedWords = 100_000
    /// For an entry, besides its lanes and the text of its type.
    private static let wordsOfEntry = 16

    package init() {}

    package mutating func insert(_ lane: Int, _ patterns: [EventPattern]) {
        forget()
        for pattern in Self.routes(patterns) {
            switch pattern {
            case .any: any.append(lane)
            case .exact(let type): exact[type, default: LaneList()].append(lane)
            case .prefix(let prefix): prefixes[prefix, default: LaneList()].append(lane)
            }
        }
    }

    /// - Parameter patterns: the patterns that the lane was inserted with.
    package mutating func remove(_ lane: Int, _ patterns: [EventPattern]) {
        forget()
        for pattern in Self.routes(patterns) {
            switch pattern {
            case .any: any.remove(lane)
            case .exact(let type): Self.remove(lane, from: &exact, type)
            case .prefix(let prefix): Self.remove(lane, from: &prefixes, prefix)
            }
        }
    }

    /// The patterns that find a lane. Beside `*` only those of service events are needed, which it does not match.
    private static func routes(_ patterns: [EventPattern]) -> Set<EventPattern> {
        let all = Set(patterns)
        return all.contains(.any) ? all.filter { $0 == .any || ServiceFamily.isOne($0.text) } : all
    }

    /// The lanes to offer an event of this type to: those that take all types (but not service events, which must be
    /// named), and those that name the type. No lane is in both lists, and none is listed twice.
    package mutating func lanes(for type: String) -> (any: [Int], named: [Int]) {
        let any = ServiceFamily.isOne(type) ? [] : self.any.lanes
        if exact.isEmpty && prefixes.isEmpty { return (any, []) }
        if let named = resolved[type] { return (any, named) }
        let named = resolve(type)
        let words = Self.wordsOfEntry + type.utf8.count / 8 + named.count
        if resolvedWords + words > Self.maxResolvedWords { forget() }
        resolved[type] = named
        resolvedWords += words
        return (any, named)
    }

    private func resolve(_ type: String) -> [Int] {
        var named = exact[type]?.lanes ?? []
        for dot in type.utf8.indices where type.utf8[dot] == UInt8(ascii: ".") {
            named += prefixes[String(type[...dot])]?.lanes ?? []
        }
        return named.count < 2 ? named : Set(named).sorted()
    }

    private mutating func forget() {
        resolved.removeAll()
        resolvedWords = 0
    }

    private static func remove(_ lane: Int, from table: inout [String: LaneList], _ key: String) {
        table[key]?.remove(lane)
        if table[key]?.lanes.isEmpty == true { table[key] = nil }
    }
}

/// Lanes in any order. A lane is added and removed in constant time, since the status of all delegates of a type may
/// change at once.
private struct LaneList {
    private(set) var lanes: [Int] = []
    /// Where each lane is; `nil` for a list that is searched as fast. Many types have one delegate.
    private var places: [Int: Int]?

    private static let mostSearched = 8

    mutating func append(_ lane: Int) {
        guard place(of: lane) == nil else { return }
        places?[lane] = lanes.count
        lanes.append(lane)
        if places == nil, lanes.count > Self.mostSearched {
            places = Dictionary(uniqueKeysWithValues: lanes.enumerated().map { ($1, $0) })
        }
    }

    /// The last lane takes its place.
    mutating func remove(_ lane: Int) {
        guard let place = place(of: lane) else { return }
        places?[lane] = nil
        let last = lanes.removeLast()
        guard last != lane else { return }
        lanes[place] = last
        places?[last] = place
    }

    private func place(of lane: Int) -> Int? {
        guard let places else { return lanes.firstIndex(of: lane) }
        return places[lane]
    }
}
