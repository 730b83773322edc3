import Glibc

/// jemalloc, which release builds are linked with (Package.swift).
enum Allocator {
    private typealias Control =
        @convention(c) (
            UnsafePointer<CChar>, UnsafeMutableRawPointer?, UnsafeMutablePointer<Int>?, UnsafeMutableRawPointer?, Int
        ) -> Int32

    /// Lets a thread of jemalloc's give memory back that nobody has used for a second. Without it a thread does so when it
    /// allocates next: what a burst took would stay with a server that is idle. Debug builds have nothing to set.
    ///
    /// Before there are other threads, since those may have arenas of their own.
    static func giveBackWhenIdle() {
        guard let symbol = dlsym(nil, "mallctl") else { return }
        let control = unsafeBitCast(symbol, to: Control.self)
        var milliseconds = 1_000
        // 4096 stands for all arenas that there are.
        for name in ["arenas.dirty_decay_ms", "arena.4096.dirty_decay_ms"] {
            _ = control(name, nil, nil, &milliseconds, MemoryLayout<Int>.size)
        }
        var isOn = true
        _ = control("background_thread", nil, nil, &isOn, MemoryLayout<Bool>.size)
    }
}
