#if os(Linux)
    internal import CDelegation

    /// A reference that does not keep its object alive.
    ///
    /// A `weak` variable gives its object a table beside it, and counts in 16 bytes: two atomic operations to load it, and two to
    /// release it. This reference keeps the object's memory, but not what the object refers to, as `unowned` does. Both count in
    /// the object then: one atomic operation each. `unowned` itself would stop the program if the object was released.
    @usableFromInline
    struct WeakReference: ~Copyable {
        private let object: UnsafeMutableRawPointer

        init(_ object: AnyObject) {
            self.object = Unmanaged.passUnretained(object).toOpaque()
            swift_unownedRetain(self.object)
        }

        deinit { swift_unownedRelease(object) }

        /// Returns the object, or `nil` if it was released.
        @usableFromInline
        func load() -> AnyObject? {
            swift_tryRetain(object).map { Unmanaged.fromOpaque($0).takeRetainedValue() }
        }
    }
#else
    /// A reference that does not keep its object alive.
    @usableFromInline
    struct WeakReference: ~Copyable {
        private weak let object: AnyObject?

        init(_ object: AnyObject) { self.object = object }

        /// Returns the object, or `nil` if it was released.
        @usableFromInline
        func load() -> AnyObject? { object }
    }
#endif
