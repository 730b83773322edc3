#if os(Linux)
    internal import CDelegation

    /// A reference that does not keep its object alive.
    ///
    /// A `weak` variable counts in a table beside its object: two atomic operations load the object, and two release it. This
    /// reference keeps the memory of the object, as `unowned` does, but not what the object refers to. So the count is in the
    /// object: one operation loads it, and one releases it. `unowned` itself stops the program if the object was released.
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
