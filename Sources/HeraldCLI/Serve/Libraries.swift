import HeraldCrypto
import HeraldHTTP
import HeraldPostgres
import HeraldSQLite
import HeraldWebhooks

/// A C library that Herald uses, in the version that is installed.
struct Library: Sendable {
    let name: String
    let version: String

    /// All, as the process has loaded them.
    static var all: [Library] {
        (SenderLibraries.versions + ServerLibraries.versions + [
            ("SQLite", SQLiteStore.libraryVersion), ("libpq", PostgresStore.libraryVersion),
        ]).map { Library(name: $0.0, version: $0.1) }
    }
}

/// A fault of a library that matters to Herald, by the versions that have it.
///
/// Distributions also repair faults without a change of the version. The list has only those that Debian has not
/// repaired like this, or which it repairs by new versions.
struct LibraryFault: Sendable {
    let library: String
    /// Ranges of versions that have the fault: from the first, up to but without the second.
    let versions: [(from: String, until: String)]
    let what: String
    /// The publication.
    let source: String
    /// How Herald avoids the fault; `nil` if it does not.
    var remedy: String?

    static let known = [
        LibraryFault(
            library: "libcurl", versions: [("7.84.0", "8.1.0")],
            what: "a response that begins with a folded header line writes to freed memory if a handle is used again",
            source: "https://github.com/curl/curl/issues/11101", remedy: "each request has a handle of its own"),
        LibraryFault(
            library: "libcurl", versions: [("7.0.0", "8.0.0")],
            what: "the second request on an HTTP/2 connection without TLS is never sent",
            source: "https://github.com/curl/curl/issues/10634", remedy: "such a connection carries one request"),
        LibraryFault(
            library: "libmicrohttpd", versions: [("0.0.0", "1.0.5")],
            what: "a request may repeat Content-Length and other headers that must be unique",
            source: "https://git.gnunet.org/libmicrohttpd.git/tree/NEWS", remedy: "such a request is refused"),
        LibraryFault(
            library: "SQLite", versions: [("3.7.0", "3.51.3")],
            what: "two connections that write or checkpoint at once can lose commits or damage the database",
            source: "https://sqlite.org/wal.html#walresetbug", remedy: "one connection writes and checkpoints"),
        LibraryFault(
            library: "libpq",
            versions: [
                ("0.0", "13.23"), ("14.0", "14.20"), ("15.0", "15.15"), ("16.0", "16.11"), ("17.0", "17.7"),
                ("18.0", "18.1"),
            ],
            what: "very large values overflow a buffer (CVE-2025-12818)",
            source: "https://www.postgresql.org/support/security/CVE-2025-12818/"),
        LibraryFault(
            library: "OpenSSL", versions: [("3.0.0", "3.0.7")],
            what: "a certificate can overflow a buffer (CVE-2022-3602, CVE-2022-3786)",
            source: "https://openssl-library.org/news/secadv/20221101.txt"),
    ]

    func affects(_ library: Library) -> Bool {
        let version = Self.numbers(library.version)
        return library.name == self.library
            && versions.contains {
                !version.lexicographicallyPrecedes(Self.numbers($0.from))
                    && version.lexicographicallyPrecedes(Self.numbers($0.until))
            }
    }

    static func found(in libraries: [Library]) -> [(library: Library, fault: LibraryFault)] {
        libraries.flatMap { library in known.filter { $0.affects(library) }.map { (library, $0) } }
    }

    /// `7.88.1-DEV` is 7, 88, 1.
    private static func numbers(_ version: String) -> [Int] {
        version.prefix { $0.isASCII && $0.isNumber || $0 == "." }.split(separator: ".").map { Int($0) ?? .max }
    }
}

extension Log {
    /// A line for each fault of a library. Those that Herald avoids are no reason to act: `herald doctor` lists them.
    func report(_ faults: [(library: Library, fault: LibraryFault)]) {
        for (library, fault) in faults {
            write(fault.remedy == nil ? .warning : .debug, "known fault of a library") {
                [
                    "library": "\(library.name) \(library.version)", "fault": fault.what, "avoided": fault.remedy,
                    "to_do": fault.remedy == nil ? "install a later version" : nil, "see": fault.source,
                ]
            }
        }
    }
}
