import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Testing

@testable import HeraldCLI

@Suite("The libraries")
struct LibraryFaultTests {
    private func faults(_ name: String, _ version: String) -> [String] {
        LibraryFault.found(in: [Library(name: name, version: version)]).map(\.fault.source)
    }

    @Test("a fault is found in the versions that have it, and in no other")
    func ranges() {
        #expect(faults("libcurl", "7.83.1").count == 1)
        #expect(faults("libcurl", "7.88.1").count == 2)
        #expect(faults("libcurl", "8.0.1").count == 1)
        #expect(faults("libcurl", "8.1.0-DEV").isEmpty)
        #expect(faults("libcurl", "8.14.1").isEmpty)
        #expect(faults("SQLite", "3.40.1").count == 1)
        #expect(faults("SQLite", "3.51.3").isEmpty)
        #expect(faults("libmicrohttpd", "0.9.75").count == 1)
        #expect(faults("libmicrohttpd", "1.0.5").isEmpty)
        #expect(faults("libpq", "15.14").count == 1)
        #expect(faults("libpq", "15.18").isEmpty)
        #expect(faults("libpq", "17.6").count == 1)
        #expect(faults("OpenSSL", "3.0.6").count == 1)
        #expect(faults("OpenSSL", "3.0.19").isEmpty)
        #expect(faults("OpenSSL", "unknown").isEmpty)
    }
}

@Suite("herald doctor", .timeLimit(.minutes(20)))
struct DoctorTests {
    @Test("it prints every library with its version, a line for each check, and what to do below it")
    func text() async throws {
        let folder = TemporaryFolder()
        let found = try await Binary.run(
            ["doctor", "--listen", "127.0.0.1:0", "--data", folder.path + "/a/b"])
        let libraries = Library.all
        #expect(libraries.count == 8)
        for library in libraries {
            #expect(library.version.first?.isNumber == true, "\(library)")
            #expect(found.text.contains("\(library.name) \(library.version)"))
        }
        #expect(found.text.contains("\nok      port        the system chooses one\n"))
        #expect(found.text.contains("\nfailure folder      \(folder.path)/a/b cannot be created"))
        #expect(found.text.contains("\n                    to do: mkdir -p \(folder.path)/a\n"))
        #expect(found.end == .exited(2))
    }

    @Test("the exit code is that of the worst finding")
    func exitCodes() {
        var report = Report()
        #expect(report.exitCode == 0)
        report.add(.ok("a", ""))
        #expect(report.exitCode == 0)
        report.add(.warning("b", "", "c"))
        #expect(report.exitCode == 1)
        report.add(.failure("d", "", "e"))
        #expect(report.exitCode == 2)
        report.add(.ok("f", ""))
        #expect(report.exitCode == 2)
    }

    @Test("a running server is no failure: its port and its folder are in use by itself")
    func running() async throws {
        let folder = TemporaryFolder()
        let data = folder.path + "/data"
        let herald = try await HeraldProcess.start(
            command: ["serve", "--listen", "127.0.0.1:0", "--data", data, "--log-format", "json"], folder: folder)
        let found = try await Findings(["--listen", "127.0.0.1:\(herald.port)", "--data", data])
        #expect(found.state(of: "port") == "ok")
        #expect(found.state(of: "folder") == "ok")
        let other = try await Findings(["--listen", "127.0.0.1:\(herald.port)", "--data", data + "2"])
        #expect(other.state(of: "port") == "failure")
        #expect(try await herald.get("/healthz").status == 200)
    }

    @Test(
        "random keys are strong, and those of examples weak",
        arguments: [
            ("change-me-change-me-change-me", true), ("password-password-password", true),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaa", true), ("12345678901234567890", true), ("herald-admin-secret-key", true),
            ("abcdabcdabcdabcdabcdabcd", true), ("3q2Zp0vJm8XcT5wKd7Rf9sLb1NhY4uGe6aQiWxOy", false),
            ("f3a9c4417be05d628ce91b7034d2fa58", false), (MadeKey.admin.text, true),
        ])
    func strength(key: String, isWeak: Bool) {
        #expect(KeyStrength.isWeak(key) == isWeak)
    }

    @Test("the retention that fits on a disk is a valid setting", arguments: [64 << 20, 1 << 30, 1 << 42] as [UInt64])
    func retention(_ bytes: UInt64) throws {
        let flags = Doctor.retention(fitting: bytes).split(separator: " ").map(String.init)
        let retention = try Settings(arguments: flags, environment: [:]).retention
        #expect((retention.bytes ?? .max) + (retention.attemptBytes ?? .max) <= Int64(bytes), "\(flags)")
    }

    @Test("with one address that callbacks must not reach, the host is not called")
    func addresses() throws {
        let url = try CallbackURL("https://shop.example/hooks")
        let addresses = ["93.184.215.14", "10.1.2.3"].compactMap { IPAddress($0) }
        func state(_ addressGuard: AddressGuard, mayCall expected: Bool) -> Finding.State? {
            var doctor = Doctor(Settings())
            let mayCall = doctor.mayCall(url, at: addresses, addressGuard)
            #expect(mayCall == expected)
            return doctor.report.findings.first?.state
        }
        let network = try NetworkRule(parsing: "10.1.0.0/16")
        #expect(state(AddressGuard(), mayCall: false) == .failure)
        #expect(state(AddressGuard(allow: [network]), mayCall: true) == .ok)
    }

    @Test("a folder is on the file system of the longest mount point")
    func mounts() {
        let mounts = """
            overlay / overlay rw 0 0
            tmpfs /tmp tmpfs rw 0 0
            server:/a /data\\040of/all nfs4 rw 0 0
            tmpfs /srv tmpfs rw 0 0
            /dev/sda1 /srv ext4 rw 0 0
            """
        #expect(FileSystem.type(of: "/var", mounts: mounts) == "overlay")
        #expect(FileSystem.type(of: "/tmp", mounts: mounts) == "tmpfs")
        #expect(FileSystem.type(of: "/tmpx", mounts: mounts) == "overlay")
        #expect(FileSystem.type(of: "/data of/all/x", mounts: mounts) == "nfs4")
        #expect(FileSystem.type(of: "/srv/x", mounts: mounts) == "ext4")
        #expect(FileSystem.type(of: "/", mounts: "") == nil)
    }
}
