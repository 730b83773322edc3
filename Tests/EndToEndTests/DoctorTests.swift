import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("The libraries")
struct DoctorTests {
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

    @Test("herald doctor prints every library with its version, and says which faults are avoided")
    func command() async throws {
        let found = try await Binary.run(["doctor"])
        let libraries = Library.all
        #expect(libraries.count == 8)
        for library in libraries {
            #expect(library.version.first?.isNumber == true, "\(library)")
            #expect(found.text.contains("\(library.name) \(library.version)"))
        }
        let isBad = LibraryFault.found(in: libraries).contains { $0.fault.remedy == nil }
        #expect(found.end == .exited(isBad ? 1 : 0))
    }
}
