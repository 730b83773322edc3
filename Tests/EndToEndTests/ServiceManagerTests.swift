import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("A service manager", .timeLimit(.minutes(20)))
struct ServiceManagerTests {
    @Test("is notified when the server is ready, and when it begins to stop", arguments: NotifySocket.Kind.allCases)
    func states(_ kind: NotifySocket.Kind) async throws {
        let folder = TemporaryFolder()
        let socket = try NotifySocket(kind, in: folder)
        let gate = ReceiverGate()
        let herald = try await HeraldProcess.start(environment: ["NOTIFY_SOCKET": socket.name])
        let receiver = try herald.receiver { _ in .held(gate) }
        try await eventually("it is ready") { socket.states == ["READY=1"] }
        let status = socket.messages.first?.split(separator: "\n").last.map(String.init)
        #expect(status == "STATUS=Listening on http://127.0.0.1:\(herald.port)")
        #expect(try await herald.get("/readyz").status == 200)
        _ = try await herald.register(receiver.url())
        try await herald.publish()
        _ = await receiver.requests(1)
        herald.process.signal(SIGTERM)
        try await eventually("it is stopping") { socket.states == ["READY=1", "STOPPING=1"] }
        #expect(herald.process.end == nil)
        gate.open()
        #expect(try await herald.process.ended() == .exited(0))
        // Without WATCHDOG_USEC nothing else is sent.
        #expect(socket.messages.count == 2)
    }

    @Test("is not notified by a server that does not start")
    func notStarted() async throws {
        let folder = TemporaryFolder()
        let socket = try NotifySocket(.path, in: folder)
        _ = try folder.write("", to: "data")
        let herald = try ChildProcess(
            Binary.path(), ["serve", "--listen", "127.0.0.1:0", "--data", folder.path + "/data"],
            environment: ["NOTIFY_SOCKET": socket.name])
        #expect(try await herald.ended() == .exited(73))
        #expect(socket.messages == [])
    }

    @Test("is notified again and again while all threads of a server work", arguments: [false, true])
    func watchdog(isSecure: Bool) async throws {
        let folder = TemporaryFolder()
        let socket = try NotifySocket(.path, in: folder)
        var tls: [String] = []
        if isSecure {
            let identity = try CertificateAuthority().makeIdentity()
            tls = [
                "--tls-certificate", try folder.write(identity.certificate, to: "certificate.pem"), "--tls-key",
                try folder.write(identity.key, to: "key.pem"),
            ]
        }
        let herald = try await HeraldProcess.start(
            tls, environment: ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "100000"])
        try await eventually("the watchdog is notified") { socket.watchdogCount >= 3 }
        #expect(socket.states == ["READY=1"])
        #expect(try await herald.stop() == .exited(0))
        #expect(socket.states == ["READY=1", "STOPPING=1"])
        #expect(socket.messages.last?.hasPrefix("STOPPING=1") == true)
    }

    @Test(
        "is notified only by the process that its watchdog is for",
        arguments: [("$$", true), ("1", false), ("$PPID", false)])
    func process(_ id: String, isThis: Bool) async throws {
        let folder = TemporaryFolder()
        let socket = try NotifySocket(.path, in: folder)
        let herald = try await HeraldProcess.start(
            environment: ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "100000"],
            prefix: ["sh", "-c", "export WATCHDOG_PID=\(id); exec \"$@\"", "sh"])
        if isThis { try await eventually("the watchdog is notified") { socket.watchdogCount >= 2 } }
        #expect(try await herald.stop() == .exited(0))
        #expect(socket.states == ["READY=1", "STOPPING=1"])
        #expect(isThis || socket.watchdogCount == 0)
    }

    @Test(
        "that cannot be notified stops nothing, and the log has one line",
        arguments: [
            "/nonexistent/notify", "notify", "@", "/", "vsock:2:1234", "/" + String(repeating: "long", count: 40),
        ])
    func unreachable(_ name: String) async throws {
        let herald = try await HeraldProcess.start(
            environment: ["NOTIFY_SOCKET": name, "WATCHDOG_USEC": "1000"])
        try await eventually("there is a warning") { herald.log("the service manager cannot be notified").count > 0 }
        for _ in 0..<3 { try await herald.publish() }
        #expect(try await herald.stop() == .exited(0))
        let warnings = herald.log("the service manager cannot be notified")
        #expect(warnings.count == 1 && warnings.first?["NOTIFY_SOCKET"]?.string == name)
    }

    @Test("that does not read its socket delays the server by seconds at most")
    func unread() async throws {
        let folder = TemporaryFolder()
        let socket = try NotifySocket(.path, in: folder)
        let herald = try await HeraldProcess.start(
            environment: ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "1"])
        try await eventually("the socket is full") { herald.log("the service manager cannot be notified").count == 1 }
        try await herald.publish()
        #expect(try await herald.stop() == .exited(0))
    }

    @Test("is not notified while a thread hangs, and again once it continues")
    func hang() async throws {
        let folder = TemporaryFolder()
        let socket = try NotifySocket(.path, in: folder)
        let log = open(folder.path + "/log", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(log) }
        let lines = try Log(format: .human, level: .info, descriptor: log)
        let variables = ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "20000"]
        let manager = ServiceManager(lines) { variables[$0] }
        let held = Recorder<@Sendable () -> Void>()
        let watchdog = try Watchdog(
            manager, [Pulse(thread: "free") { $0() }, Pulse(thread: "hanging") { held.record($0) }], lines)
        try await eventually("the silence is logged") {
            let text = String(decoding: try Files.read(folder.path + "/log"), as: UTF8.self)
            return text.contains("threads do not respond") && text.contains("threads=hanging ")
        }
        #expect(held.items.count == 1 && socket.messages == [])
        held.items[0]()
        try await held.first(2)
        #expect(socket.messages == ["WATCHDOG=1"])
        // A late second response to the first round is none to the next one.
        held.items[0]()
        #expect(socket.messages == ["WATCHDOG=1"])
        watchdog.stop()
        held.items[1]()
        #expect(socket.messages == ["WATCHDOG=1"])
        lines.end()
    }

    @Test("does not stop a process that replaces itself")
    func restart() throws {
        let folder = TemporaryFolder()
        let socket = try NotifySocket(.path, in: folder)
        let log = try Log(format: .human, level: .info)
        let before = monotonicSeconds()
        ServiceManager(log) { $0 == "NOTIFY_SOCKET" ? socket.name : nil }.isRestarting()
        log.end()
        // The process ends if it can't replace itself.
        log.end()
        let lines = try #require(socket.messages.first).split(separator: "\n")
        #expect(lines.first == "RELOADING=1")
        let time = try #require(Double(lines[1].split(separator: "=")[1]))
        #expect(
            lines[1].hasPrefix("MONOTONIC_USEC=") && time >= (before * 1e6).rounded(.down)
                && time <= monotonicSeconds() * 1e6)
    }

    @Test(
        "has no watchdog without a valid time",
        arguments: [nil, "", "0", "-5", "x", "99999999999999999999"])
    func noWatchdog(_ microseconds: String?) throws {
        let log = try Log(format: .human, level: .info)
        defer { log.end() }
        let manager = ServiceManager(log) { ["NOTIFY_SOCKET": "@nowhere", "WATCHDOG_USEC": microseconds][$0] ?? nil }
        #expect(manager.watchdogMilliseconds == nil)
    }

    @Test("without one, a thread that hangs is in the log, and so is its next response")
    func hangWithoutManager() async throws {
        let folder = TemporaryFolder()
        let log = open(folder.path + "/log", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(log) }
        let lines = try Log(format: .human, level: .info, descriptor: log)
        let held = Recorder<@Sendable () -> Void>()
        let hanging = Pulse(thread: "hanging") { held.record($0) }
        let watchdog = try Watchdog(ServiceManager(lines) { _ in nil }, [hanging], lines, milliseconds: 10)
        func logged(_ words: String) async throws {
            try await eventually("\(words) is logged") {
                String(decoding: try Files.read(folder.path + "/log"), as: UTF8.self).contains(words)
            }
        }
        try await logged("threads do not respond  threads=hanging ")
        held.items[0]()
        try await logged("threads respond again")
        watchdog.stop()
        lines.end()
    }

    @Test(
        "with a watchdog of any length is notified in time",
        arguments: [("1", 1), ("3000", 1), ("120000000", 60_000), ("9223372036854775807", Int32.max)])
    func interval(_ microseconds: String, _ milliseconds: Int32) throws {
        let log = try Log(format: .human, level: .info)
        defer { log.end() }
        let manager = ServiceManager(log) { ["NOTIFY_SOCKET": "@nowhere", "WATCHDOG_USEC": microseconds][$0] }
        #expect(manager.watchdogMilliseconds == milliseconds)
    }

    @Test("provides keys as credentials, which flags and variables replace")
    func credentials() async throws {
        let folder = TemporaryFolder()
        let credentials = ["CREDENTIALS_DIRECTORY": folder.path]
        let (key, other) = ("the-admin-key-of-a-credential", "the-admin-key-of-a-variable")
        _ = try folder.write(key + "\n", to: "herald.admin-key")
        _ = try folder.write("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", to: "herald.master-key")
        for (environment, valid, wrong) in [
            (credentials, key, other), (credentials.merging(["HERALD_ADMIN_KEY": other]) { $1 }, other, key),
        ] {
            let herald = try await HeraldProcess.start(environment: environment)
            #expect(herald.log("listening").first?["secrets"]?.string == "encrypted")
            for (text, status) in [(valid, 200), (wrong, 401)] {
                let answer = try await herald.send("GET", "/v1/keys", nil, ["Authorization": "Bearer \(text)"])
                #expect(answer.status == status)
            }
            #expect(try await herald.stop() == .exited(0))
        }
        _ = try folder.write("short\n", to: "herald.admin-key")
        let refused = try await Binary.run(
            ["serve", "--listen", "127.0.0.1:0", "--data", folder.path + "/data"], environment: credentials)
        #expect(refused.end == .exited(64) && refused.text.contains("herald: The credential herald.admin-key is "))
    }
}
