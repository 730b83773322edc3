import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("Signals", .timeLimit(.minutes(20)), .serialized)
struct SignalTests {
    @Test("HUP changes nothing")
    func hangUp() async throws {
        let herald = try await HeraldProcess.start()
        for _ in 0..<3 { herald.process.signal(SIGHUP) }
        try await herald.publish()
        #expect(herald.process.end == nil)
        #expect(try await herald.stop() == .exited(0))
    }

    @Test("INT ends it like TERM")
    func interrupt() async throws {
        let herald = try await HeraldProcess.start()
        herald.process.signal(SIGINT)
        #expect(try await herald.process.ended() == .exited(0))
        #expect(herald.log("stopping").first?["signal"]?.string == "INT")
        #expect(herald.log("stopped").count == 1)
    }

    @Test("TERM waits for requests in flight, and records their outcome")
    func drain() async throws {
        let gate = ReceiverGate()
        let receiver = try Receiver { _ in .held(gate) }
        defer { receiver.close() }
        let herald = try await HeraldProcess.start()
        _ = try await herald.register(receiver.url(), #""timeout_seconds": 60"#)
        let event = try await herald.publish()
        _ = await receiver.requests(1)
        herald.process.signal(SIGTERM)
        try await eventually("it is stopping") { herald.log("stopping").count == 1 }
        try await eventually("no new connection is taken") { (try? RawHTTPClient(port: herald.port)) == nil }
        #expect(herald.process.end == nil)
        gate.open()
        #expect(try await herald.process.ended() == .exited(0))
        let next = try await herald.restart()
        _ = try await next.deliveries(of: event, "delivered")
        #expect(receiver.requests.count == 1)
    }

    @Test("after the grace period it ends although a callback is open, which is repeated after the restart")
    func grace() async throws {
        let gate = ReceiverGate()
        let receiver = try Receiver { request in .held(gate) }
        defer { receiver.close() }
        let herald = try await HeraldProcess.start(["--grace", "1"])
        _ = try await herald.register(receiver.url())
        let event = try await herald.publish()
        _ = await receiver.requests(1)
        #expect(try await herald.stop() == .exited(0))
        gate.open()
        let next = try await herald.restart()
        _ = try await next.deliveries(of: event, "delivered")
        #expect(receiver.requests.map { $0.header("herald-attempt") } == ["1", "1"])
    }

    @Test("a log without a reader delays nothing: no request, no signal, and not the stop")
    func unreadLog() async throws {
        let folder = TemporaryFolder()
        // The lines of the start are read. Then the pipe is filled, and not read any more.
        let script = """
            mkfifo "$0" && exec 9<>"$0" || exit 1
            (sed -u '/listening/q' <&9; dd if=/dev/zero of="$0" oflag=nonblock bs=4096 count=64 2>/dev/null; echo full) &
            exec "$@" 2>&9
            """
        let herald = try await HeraldProcess.start(folder: folder, prefix: ["sh", "-c", script, folder.path + "/log"])
        try await eventually("the pipe is full") { herald.process.lines.contains("full") }
        let receiver = try herald.receiver()
        herald.process.signal(SIGHUP)
        _ = try await herald.register(receiver.url())
        _ = try await herald.deliveries(of: try await herald.publish(), "delivered")
        #expect(try await herald.stop() == .exited(0))
    }

    @Test("a second TERM ends it at once, safely")
    func secondSignal() async throws {
        let gate = ReceiverGate()
        let receiver = try Receiver { _ in .held(gate) }
        defer { receiver.close() }
        defer { gate.open() }
        let herald = try await HeraldProcess.start(["--grace", "600"])
        _ = try await herald.register(receiver.url(), #""timeout_seconds": 60"#)
        let event = try await herald.publish()
        _ = await receiver.requests(1)
        herald.process.signal(SIGTERM)
        try await eventually("it is stopping") { herald.log("stopping").count == 1 }
        herald.process.signal(SIGTERM)
        #expect(try await herald.process.ended() == .exited(1))
        #expect(herald.log("stopped at once by a second signal").count == 1)
        let next = try await herald.restart()
        _ = await receiver.requests(2)
        #expect(receiver.requests.map { $0.header("webhook-id") } == [event, event])
        gate.open()
        _ = try await next.deliveries(of: event, "delivered")
    }

    @Test("stopped and continued by the terminal, it keeps working")
    func suspended() async throws {
        let herald = try await HeraldProcess.start()
        let (receiver, _) = try await herald.registerReceiver()
        herald.process.signal(SIGSTOP)
        async let posted = herald.publish()
        herald.process.signal(SIGCONT)
        _ = try await herald.deliveries(of: try await posted, "delivered")
        #expect(receiver.requests.count == 1)
    }

    @Test("HUP is for the server; another command ends with its terminal")
    func closedTerminal() async {
        let areHeld = await offPool {
            var held = sigset_t()
            sigemptyset(&held)
            pthread_sigmask(SIG_SETMASK, &held, nil)
            return [false, true].map { reloads in
                _ = Signals(reloads: reloads)
                pthread_sigmask(SIG_BLOCK, nil, &held)
                return sigismember(&held, SIGHUP) == 1
            }
        }
        #expect(areHeld == [false, true])
    }

    @Test("a wait of any length for a signal has a time that the system takes")
    func waits() {
        for (milliseconds, seconds, rest) in [(0, 0, 0), (250, 0, 250), (999, 0, 999), (1_000, 1, 0), (10_001, 10, 1)] {
            let time = Signals.time(milliseconds: milliseconds)
            #expect(time.tv_sec == seconds && time.tv_nsec == rest * 1_000_000)
        }
    }
}
