#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Android)
    internal import Android
#endif
#if !os(WASI)
    internal import Dispatch
    internal import Synchronization
#endif

/// Whether the current thread executes the main actor.
///
/// The executor of the main actor is the main queue. The process's first thread executes it until the program calls
/// `dispatchMain`, as an asynchronous `main` does on Linux at its first suspension: from then on, any thread of Dispatch
/// does. So a thread is identified by the queue that it executes. The first thread executes nothing else, so its identity is
/// sufficient and is compared first, which is faster; it remains unused when that thread has ended.
enum MainThread {
    #if os(WASI)
        static var isCurrent: Bool { true }  // There is one thread.
    #else
        private static let key: DispatchSpecificKey<Void> = {
            let key = DispatchSpecificKey<Void>()
            DispatchQueue.main.setSpecific(key: key, value: ())
            return key
        }()

        /// The process's first thread; 0 until a thread was found to execute the main queue, and `none` if that was another
        /// thread.
        private static let first = Atomic<UInt>(0)
        private static let none = UInt.max

        static var isCurrent: Bool {
            let first = first.load(ordering: .relaxed)
            if first == ThreadIdentity.current { return true }
            if DispatchQueue.getSpecific(key: key) == nil { return false }
            if first == 0 { self.first.store(isFirst ? ThreadIdentity.current : none, ordering: .relaxed) }
            return true
        }

        /// Whether the current thread is the process's first one; `false` if the system does not show it.
        private static var isFirst: Bool {
            #if canImport(Darwin)
                return pthread_main_np() != 0
            #elseif os(Linux) || os(Android)
                // `<process>/task/<thread>`: of the first thread both numbers are equal.
                var path = [CChar](repeating: 0, count: 64)
                let count = readlink("/proc/thread-self", &path, path.count)
                let numbers = path.prefix(max(0, count)).split(separator: CChar(UInt8(ascii: "/")))
                return numbers.count == 3 && numbers[0] == numbers[2]
            #else
                return false
            #endif
        }
    #endif
}
