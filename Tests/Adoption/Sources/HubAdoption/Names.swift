import CSQLite
import Crypto
import Delegation
import Dispatch
import Foundation
import HTTPClient
import Herald
import JSON
import Observation
import Synchronization

// `import Herald` changes nothing of what other names mean.

func count(_ numbers: some Sequence<Int>) -> Int { numbers.reduce(0) { sum, _ in sum + 1 } }

func now<Time: Clock>(_ clock: Time) -> Time.Instant { clock.now }

func checkNames() throws {
    let mutex = Mutex(0)
    mutex.withLock { $0 += 1 }
    _ = DispatchSemaphore(value: 0)
    let delegates = MulticastDelegate<any AnyObject & Sendable>()
    delegates.removeAllDelegates()
    let types: [Any.Type] = [
        Thread.self, Timer.self, Task<Void, Never>.self, Notification.self, Progress.self, Process.self,
    ]
    try expect(types.count == 6 && now(ContinuousClock()) <= ContinuousClock().now, "Clock")
    let names = "\(SHA256.byteCount) \(sqlite_stub_version()) \(JSON.null) \(type(of: HTTPClient())) \(count([1, 2]))"
    try expect(names == "32 3 null HTTPClient 2", names)
}
