import Herald
import HeraldServer
import Runtime
import Synchronization

/// The admin key that a server makes for itself when it starts where others can reach it and there is none.
enum FirstKey {
    /// Makes one with the scope `admin`, and waits until it is on disk.
    /// - Returns: its text, which is kept nowhere.
    static func make(_ hub: Hub) throws -> String {
        let now = hub.clock.wall()
        let text = try KeyText(id: hub.ids.next("key_", time: now))
        let key = APIKey(
            id: text.id, name: "Made at the first start", scopes: [.admin], digest: text.digest, createdAt: now)
        let answer = Answer()
        let done = try Semaphore()
        hub.administer(
            AccessWrite(action: .addKey(key)) { result in
                if case .refused(let refusal) = result { answer.refusal.withLock { $0 = refusal } }
                done.signal()
            })
        done.wait()
        if let refusal = answer.refusal.withLock({ $0 }) { throw refusal }
        return text.text
    }

    private final class Answer: Sendable {
        let refusal = Mutex<WriteRefusal?>(nil)
    }
}
