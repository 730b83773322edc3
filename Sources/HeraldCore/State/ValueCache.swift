/// Values that the store has too, bounded by their bytes. Beyond the bound all of them are dropped.
struct ValueCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var values: [Key: Value] = [:]
    private(set) var bytes = 0
    private let maxBytes: Int
    private let size: @Sendable (Value) -> Int
    /// A key, its place in the dictionary, and the properties of a value besides its bytes.
    static var overhead: Int { 320 }

    /// - Parameter size: the bytes of a value beyond the overhead of an entry.
    init(maxBytes: Int, size: @escaping @Sendable (Value) -> Int) {
        self.maxBytes = maxBytes
        self.size = size
    }

    /// `nil` removes the value. A value that takes more than a quarter of the bound is not kept, because it would push out too
    /// many others.
    subscript(key: Key) -> Value? {
        get { values[key] }
        set {
            if let old = values.removeValue(forKey: key) { bytes -= Self.overhead + size(old) }
            guard let newValue else { return }
            let more = Self.overhead + size(newValue)
            guard more <= maxBytes / 4 else { return }
            if bytes + more > maxBytes {
                values = [:]
                bytes = 0
            }
            values[key] = newValue
            bytes += more
        }
    }

    mutating func remove(where isGone: (Key) -> Bool) {
        for key in values.keys.filter(isGone) { self[key] = nil }
    }
}
