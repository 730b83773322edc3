import Glibc

/// jemalloc, with which release builds are linked (Package.swift).
enum Allocator {
    private typealias Control =
        @convention(c) (
            UnsafePointer<CChar>, UnsafeMutableRawPointer?, UnsafeMutablePointer<Int>?, UnsafeMutableRawPointer?, Int
        ) -> Int32

    /// Lets a thread of jemalloc return memory that was unused for a second. Otherwise memory is returned only during
    /// later allocations, so an idle server would keep the memory of a burst. Does nothing in debug builds.
    ///
    /// Must be called before other threads exist, because they may have arenas of their own.
    static func giveBackWhenIdle() {
        guard let symbol = dlsym(nil, "mallctl") else { return }
        let control = unsafeBitCast(symbol, to: Control.self)
        var milliseconds = 1_000
        // 4096 means all existing arenas.
        for name in ["arenas.dirty_decay_ms", "arena.4096.dirty_decay_ms"] {
            _ = control(name, nil, nil, &milliseconds, MemoryLayout<Int>.size)
        }
        var isOn = true
        _ = control("background_thread", nil, nil, &isOn, MemoryLayout<Bool>.size)
    }
}
