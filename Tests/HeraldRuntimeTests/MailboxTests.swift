import HeraldRuntime
import HeraldTestSupport
import Testing

@Suite("Crossing threads", .timeLimit(.minutes(20)))
struct MailboxTests {
    @Test("a mailbox delivers everything once, in order, and wakes once per batch")
    func batches() {
        let counter = Counter()
        let mailbox = Mailbox<Int>(wake: { counter.next() })
        #expect(mailbox.takeAll() == [])
        for item in 1...3 { mailbox.post(item) }
        #expect(mailbox.takeAll() == [1, 2, 3])
        #expect(counter.value == 1)
        mailbox.post(4)
        #expect(mailbox.takeAll() == [4])
        #expect(counter.value == 2)
    }

    @Test("posts of many threads are not lost, and the reader always wakes")
    func manyThreads() async throws {
        let received = try await RawHTTP.onThread {
            let wakeup = try Wakeup()
            let mailbox = Mailbox<Int>(wakeup: wakeup)
            let threads = try (0..<4).map { number in
                try Thread(name: "post-\(number)") { for item in 0..<2_500 { mailbox.post(number * 2_500 + item) } }
            }
            var received: [Int] = []
            try blockUntil("everything that was posted is received") {
                wakeup.wait(milliseconds: 1_000)
                received += mailbox.takeAll()
                return received.count >= 10_000
            }
            for thread in threads { thread.join() }
            return received
        }
        #expect(received.sorted() == Array(0..<10_000))
    }

    @Test("a semaphore grants as many permits as were signalled")
    func semaphore() async throws {
        let taken = try await RawHTTP.onThread {
            let semaphore = Semaphore()
            let counter = Counter()
            let threads = try (0..<3).map { number in
                try Thread(name: "take-\(number)") {
                    for _ in 0..<100 { semaphore.wait() }
                    counter.next()
                }
            }
            for _ in 0..<300 { semaphore.signal() }
            for thread in threads { thread.join() }
            return counter.value
        }
        #expect(taken == 3)
    }

    @Test("a timed wait gets an available permit, and reports when there is none")
    func boundedWait() throws {
        let semaphore = Semaphore()
        #expect(!semaphore.wait(milliseconds: 1))
        semaphore.signal()
        #expect(semaphore.wait(milliseconds: 0) && !semaphore.wait(milliseconds: 0))
    }

    @Test("a wakeup before the wait ends this wait only")
    func wakeup() throws {
        let wakeup = try Wakeup()
        wakeup.signal()
        wakeup.signal()
        wakeup.wait()
        wakeup.signal()
        wakeup.clear()
        wakeup.wait(milliseconds: 0)
    }

    @Test("epoll reports ready descriptors, and not removed ones")
    func epoll() throws {
        let epoll = try Epoll()
        let first = try Wakeup()
        let second = try Wakeup()
        try epoll.add(first.descriptor, .read)
        try epoll.add(second.descriptor, .read)
        first.signal()
        second.signal()
        try epoll.remove(second.descriptor)
        var ready: [Int32] = []
        epoll.wait(milliseconds: 1_000) { descriptor, interest in
            ready.append(descriptor)
            #expect(interest.contains(.read))
        }
        #expect(ready == [first.descriptor])
    }
}
