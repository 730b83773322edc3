/// A property that takes eight bytes until it is changed: most lanes of a server are idle.
@propertyWrapper
struct OnDemand<Value: Beginning> {
    private final class Box {
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    private var box: Box?

    init() {}

    /// Whether it was not changed. Unlike reading the value, this allocates nothing.
    var isUnchanged: Bool { box == nil }

    /// Inlined, so that reading a part of a large value copies no more than that part.
    var wrappedValue: Value {
        @inline(__always) _read {
            if let box { yield box.value } else { yield Value.beginning }
        }
        @inline(__always) _modify {
            if isKnownUniquelyReferenced(&box), let own = box {
                yield &own.value
                if own.value.isBeginning { box = nil }
            } else {
                // A copy of the owner has a value of its own.
                var value = wrappedValue
                yield &value
                box = value.isBeginning ? nil : Box(value)
            }
        }
    }
}

/// A value with something to begin with.
package protocol Beginning {
    /// One value for all: reading it copies nothing.
    static var beginning: Self { get }
    /// Whether it need not be kept. May be `false` where finding out takes long.
    var isBeginning: Bool { get }
}

extension FlowControl: Beginning {
    static let beginning = FlowControl()
    var isBeginning: Bool { false }
}

extension Optional: Beginning where Wrapped == StoredRows {
    package static var beginning: Self { nil }
    package var isBeginning: Bool { if case .none = self { true } else { false } }
}
