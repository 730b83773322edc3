import Testing

@testable import Delegation

/// Names itself; all names have one hash.
private struct Name: Hashable, Sendable {
    let text: String
    func hash(into hasher: inout Hasher) { hasher.combine(1) }
}

private protocol Station: AnyObject, Sendable {
    var name: Name { get }
    func hear(_ word: String)
}

private final class Radio: Station {
    let name: Name
    let record: Record
    let label: String
    init(_ name: String, _ label: String, _ record: Record) {
        self.name = Name(text: name)
        self.label = label
        self.record = record
    }
    func hear(_ word: String) { record.add("\(label) \(word)") }
}

/// Can be given another name.
private final class Relay: Station {
    let current: Box<Name>
    let record: Record
    var name: Name { current.value }
    init(_ name: String, _ record: Record) {
        current = Box(Name(text: name))
        self.record = record
    }
    func hear(_ word: String) { record.add("\(name.text) \(word)") }
}

/// A key that is an object, and does something at its end.
private final class Tag: Hashable, Sendable {
    let text: String
    let atEnd: @Sendable () -> Void
    init(_ text: String, atEnd: @escaping @Sendable () -> Void) {
        self.text = text
        self.atEnd = atEnd
    }
    deinit { atEnd() }
    static func == (left: Tag, right: Tag) -> Bool { left.text == right.text }
    func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

private let tagged: MulticastDelegate<Radio> = MulticastDelegate(identifiedBy: { radio in
    Tag(radio.name.text, atEnd: { _ = tagged.count })
})

@Suite("Delegates with an identity of their own")
struct KeyTests {
    private let record = Record()
    private let stations = MulticastDelegate<any Station>(identifiedBy: \.name)

    @Test("are registered once for each key")
    func equalKeys() {
        let first = Radio("north", "first", record)
        let second = Radio("north", "second", record)
        #expect(stations.addDelegate(first))
        #expect(!stations.addDelegate(second))
        stations.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["first x"])
        #expect(stations.contains(second))
        #expect(stations.removeDelegate(second))
        #expect(stations.addDelegate(second))
        stations.invokeDelegates { $0.hear("y") }
        #expect(record.lines == ["first x", "second y"])
    }

    @Test("with different keys of the same hash are all called")
    func collisions() {
        let radios = (0..<50).map { Radio("\($0)", "\($0)", record) }
        for radio in radios { #expect(stations.addDelegate(radio)) }
        #expect(stations.count == 50)
        stations.invokeDelegates { $0.hear("x") }
        #expect(record.lines == (0..<50).map { "\($0) x" })
        for radio in radios { #expect(stations.removeDelegate(radio)) }
        #expect(stations.count == 0)
    }

    @Test("can be replaced by another delegate with an equal key after their release")
    func released() {
        weak var observed: Radio?
        do {
            let first = Radio("north", "first", record)
            observed = first
            stations.addDelegate(first)
        }
        #expect(observed == nil)
        let second = Radio("north", "second", record)
        #expect(!stations.contains(second))
        #expect(stations.addDelegate(second))
        stations.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["second x"])
        #expect(stations.count == 1)
    }

    @Test("that were added twice, with different keys, are removed by each")
    func changedKey() {
        let relay = Relay("old", record)
        stations.addDelegate(relay)
        relay.current.value = Name(text: "new")
        #expect(stations.addDelegate(relay))
        #expect(stations.removeDelegate(relay))
        stations.invokeDelegates { $0.hear("x") }
        #expect(record.lines == ["new x"])
        #expect(!stations.removeDelegate(relay))
        relay.current.value = Name(text: "old")
        #expect(stations.removeDelegate(relay))
        stations.invokeDelegates { $0.hear("y") }
        #expect(record.lines == ["new x"])
    }

    @Test("may have keys that use the collection when they are released")
    func keysThatAreObjects() {
        let radio = Radio("north", "first", record)
        #expect(tagged.addDelegate(radio))
        #expect(tagged.removeDelegate(radio))
        #expect(tagged.count == 0)
    }

    @Test("do not accumulate after their release, although new delegates reuse some slots")
    func sweeping() {
        for round in 0..<200 {
            for name in ["a", "b", "c", "\(round)"] { stations.addDelegate(Radio(name, name, record)) }
            #expect(stations.membership.members.count <= 48)
        }
    }
}
