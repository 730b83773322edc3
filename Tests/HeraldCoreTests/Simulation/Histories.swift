import Glibc
import HeraldTestSupport
import Synchronization

/// Runs a history for each seed, on one thread for each core that gives way to all others.
/// - Parameter run: a history; returns what it counts, always the same number of counts.
/// - Returns: the sums of the counts, after the number of histories; and the errors. No history begins after five errors.
func runHistories(
    _ seeds: [UInt64], _ run: @escaping @Sendable (UInt64) throws -> [Int]
) async -> (sums: [Int], errors: [String]) {
    struct Progress {
        var next = 0
        var sums: [Int] = []
        var errors: [String] = []
    }
    final class Histories: Sendable {
        let progress = Mutex(Progress())
    }
    let histories = Histories()
    let runAll: @Sendable () -> Void = {
        while true {
            let seed = histories.progress.withLock { progress -> UInt64? in
                guard progress.next < seeds.count, progress.errors.count < 5 else { return nil }
                defer { progress.next += 1 }
                return seeds[progress.next]
            }
            guard let seed else { return }
            let result = Result { try [1] + run(seed) }
            histories.progress.withLock { progress in
                switch result {
                case .success(let counts):
                    progress.sums = progress.sums.isEmpty ? counts : zip(progress.sums, counts).map(+)
                case .failure(let error): progress.errors.append("\(error)")
                }
            }
        }
    }
    await withTaskGroup { group in
        for _ in 0..<sysconf(Int32(_SC_NPROCESSORS_ONLN)) { group.addTask { await inBackground(runAll) } }
    }
    return histories.progress.withLock { ($0.sums, $0.errors) }
}
