import Synchronization

/// Collects what threads tell, for a test that waits for it.
package final class Recorder<Item: Sendable>: Sendable {
    private let recorded = Mutex<[Item]>([])

    package init() {}

    package func record(_ item: Item) { recorded.withLock { $0.append(item) } }

    package var items: [Item] { recorded.withLock { $0 } }

    /// Waits until there are so many, and returns all.
    /// - Throws: `TooLate`, with what was recorded until then.
    @discardableResult
    package func first(_ count: Int, within seconds: Double = patience) async throws -> [Item] {
        do {
            return try await eventually("\(count) are recorded", within: seconds) { [self] in
                items.count >= count ? items : nil
            }
        } catch let error as TooLate {
            throw TooLate(description: "\(error), only \(items.count): \(items.suffix(10))")
        }
    }
}
