#if canImport(Glibc) || canImport(Musl) || canImport(Android)
    #if canImport(Glibc)
        internal import Glibc
    #elseif canImport(Musl)
        internal import Musl
    #else
        internal import Android
    #endif

    /// A value that one thread at a time can get at, guarded by a mutex of the C library.
    ///
    /// It is what `Synchronization.Mutex` is, which it replaces here for one reason: that one is a futex on these systems,
    /// which ThreadSanitizer doesn't know, so that it would report a race for all that is guarded.
    ///
    /// The storage is at one address from `init` to `deinit`, as a C mutex has to be. `Sendable` is right for the value
    /// that it guards because only the holder of the mutex gets at it.
    struct Lock<Value>: ~Copyable {
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private let value: UnsafeMutablePointer<Value>

        init(_ value: Value) {
            mutex = .allocate(capacity: 1)
            mutex.initialize(to: pthread_mutex_t())
            pthread_mutex_init(mutex, nil)
            self.value = .allocate(capacity: 1)
            self.value.initialize(to: value)
        }

        deinit {
            value.deinitialize(count: 1)
            value.deallocate()
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        /// Not to be called again from inside.
        borrowing func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return body(&value.pointee)
        }
    }

    extension Lock: @unchecked Sendable where Value: Sendable {}
#else
    internal import Synchronization

    /// A value that one thread at a time can get at.
    typealias Lock = Mutex
#endif
