// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// jemalloc, from "libjemalloc-dev", in release builds: an event is made on one thread and released on others, which glibc's
/// `malloc` is slow at (Documentation/performance.md). Debug builds do without it, since sanitizers bring their own.
let allocator = LinkerSetting.linkedLibrary("jemalloc", .when(platforms: [.linux], configuration: .release))

/// A Debian library behind a module map and a header of `static inline` functions.
func cLibrary(_ name: String, _ pkgConfig: String? = nil, _ package: String? = nil) -> Target {
    .systemLibrary(
        name: name, pkgConfig: pkgConfig, providers: package.map { [.apt([$0])] } ?? [])
}

func module(_ name: String, _ dependencies: [Target.Dependency] = [], embedding files: [String] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, resources: files.map { .embedInCode($0) }, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies + ["TestSupport"], swiftSettings: settings)
}

/// A small program that shows something: `swift run Name`.
func example(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: "Examples/\(name)", swiftSettings: settings)
}

let package = Package(
    name: "herald",
    // For `Delegation`, which needs atomics; the service runs on Linux.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .executable(name: "herald", targets: ["HeraldCommand"]),
        .library(name: "Delegation", targets: ["Delegation"]),
        .library(name: "Herald", targets: ["Herald", "SQLiteStore", "Webhooks"]),
    ],
    targets: [
        // The multicast delegate. Knows Swift's standard library and nothing else: any Swift platform.
        module("Delegation"),
        // Threads, mailboxes, clocks, eventfd and epoll: the only place with system calls of our own.
        module("Runtime", ["CLinux"]),
        // One strict parser and one writer of JSON, over bytes. Knows nothing of events.
        module("JSON"),
        // JSON Schema 2020-12: whether a value fits, and if not, where and why. Knows JSON and nothing else.
        module("JSONSchema", ["JSON"]),
        // Hashes, signatures, random bytes, sealed secrets: a small face of libcrypto.
        module("Crypto", ["COpenSSL"]),
        // The hub: log, delegates, routing, lanes, retries, and the ports EventStore and CallbackSender. No C, no sockets, no SQL.
        module("Herald", ["Delegation", "JSON", "Runtime"]),
        // EventStore on SQLite, the embedded default; secrets sealed. Knows SQL, not HTTP.
        module("SQLiteStore", ["Herald", "Runtime", "Crypto", "CSQLite"]),
        // CallbackSender on libcurl: HTTP callbacks, signing, the address guard. Knows no store.
        module("Webhooks", ["Herald", "Runtime", "Crypto", "CCurl"]),
        // A small Swift face of libmicrohttpd. Knows nothing of Herald.
        module("HTTPServer", ["Runtime", "CMicrohttpd", "CMicrohttpdErrors", "CGnuTLS"]),
        // The REST contract: routes, JSON, problems, metrics. Knows the hub and HTTP, no C library.
        module(
            "HeraldServer", ["Herald", "HTTPServer", "JSON", "JSONSchema", "Crypto", "Runtime"],
            embedding: ["Resources/openapi.yaml", "Resources/openapi.json", "Resources/dashboard"]),
        // A webhook receiver that does what its script says, good or bad: for tests, and to try things out. Knows nothing of
        // Herald but how it signs.
        module("Receiver", ["Runtime", "JSON", "Crypto", "CSSL", "CNGHTTP2"]),
        // A small blocking face of libcurl's easy interface, for the command line. Knows nothing of Herald.
        module("HTTPClient", ["CCurl"]),
        // The command `herald`: arguments, configuration, signals, wiring: the only place that knows everything.
        module(
            "HeraldCommand",
            [
                "Delegation", "Herald", "HeraldServer", "HTTPServer", "HTTPClient", "JSON", "SQLiteStore", "Webhooks",
                "Receiver", "Crypto", "Runtime",
            ]
        )
        .executable(linking: [allocator]),

        // The C libraries, each imported by the one target above it; CCurl by Webhooks and HTTPClient, with a header for each.
        cLibrary("CLinux"),
        cLibrary("CMicrohttpd", "libmicrohttpd", "libmicrohttpd-dev"),
        // What libmicrohttpd would answer by itself.
        .target(name: "CMicrohttpdErrors", dependencies: ["CMicrohttpd"]),
        cLibrary("CGnuTLS", "gnutls", "libgnutls28-dev"),
        cLibrary("CCurl", "libcurl", "libcurl4-openssl-dev"),
        cLibrary("COpenSSL", "libcrypto", "libssl-dev"),
        cLibrary("CSQLite", "sqlite3", "libsqlite3-dev"),
        cLibrary("CSSL", "libssl", "libssl-dev"),
        cLibrary("CNGHTTP2", "libnghttp2", "libnghttp2-dev"),

        // Examples of what the library does, each run by a test.
        example("DispatchSystem", ["Delegation"]),
        example("MirrorDrawing", ["Delegation"]),
        example("AppStates", ["Delegation"]),
        example("LoginObservers", ["Delegation"]),
        example("SignUpForm", ["Delegation"]),
        example("EmbeddedHub", ["Delegation", "Herald", "JSON", "Runtime", "SQLiteStore", "Webhooks"]),

        // Nanoseconds per delegate; run by Benchmarks/run.
        .executableTarget(
            name: "MulticastBenchmark", dependencies: ["Delegation"], path: "Benchmarks/multicast",
            swiftSettings: settings),

        // What publishing costs before anything is stored; run by Benchmarks/run.
        .executableTarget(
            name: "PublishingBenchmark", dependencies: ["HTTPServer", "Herald", "HeraldServer"],
            path: "Benchmarks/publishing", swiftSettings: settings, linkerSettings: [allocator]),

        // What sending alone costs; run by Benchmarks/run.
        .executableTarget(
            name: "TransportBenchmark", dependencies: ["Herald", "Webhooks"], path: "Benchmarks/transport",
            swiftSettings: settings, linkerSettings: [allocator]),

        // What several test suites need: temporary folders, raw sockets, the receiver, the running binary.
        .target(name: "TestSupport", dependencies: ["Receiver"], path: "Tests/TestSupport", swiftSettings: settings),
        .testTarget(name: "DelegationTests", dependencies: ["Delegation"], swiftSettings: settings),
        tests(
            "ExampleTests",
            [
                "DispatchSystem", "MirrorDrawing", "AppStates", "LoginObservers", "SignUpForm", "EmbeddedHub",
                "HeraldCommand",
            ]),
        tests("RuntimeTests", ["Runtime"]),
        tests("JSONTests", ["JSON"]),
        tests("JSONSchemaTests", ["JSONSchema", "JSON"]),
        tests("CryptoTests", ["Crypto"]),
        tests("HTTPServerTests", ["HTTPServer"]),
        tests("ReceiverTests", ["Receiver", "Crypto", "JSON", "Runtime"]),
        tests("WebhooksTests", ["Webhooks", "Crypto", "Herald", "Runtime"]),
        tests("StoreTests", ["SQLiteStore", "Herald", "Runtime", "Crypto"]),
        tests("HeraldTests", ["Herald", "Delegation", "JSON", "Runtime"]),
        tests(
            "HeraldServerTests",
            [
                "HeraldServer", "HeraldCommand", "Crypto", "Herald", "HTTPServer", "JSON", "Runtime", "SQLiteStore",
                "Webhooks",
            ]),
        tests("EndToEndTests", ["HeraldCommand", "HeraldServer", "HTTPClient", "JSON", "Receiver"]),
    ]
)

// Fuzzers of our own parsers. With HERALD_FUZZ a library for script/fuzz alone, since with it every other target has to be
// testable; otherwise part of the tests, which run the inputs that are kept.
let fuzzed: [Target.Dependency] = ["Herald", "HeraldServer", "HTTPServer", "JSON", "JSONSchema", "Webhooks"]
if Context.environment["HERALD_FUZZ"] != nil {
    package.products.append(.library(name: "Fuzz", type: .static, targets: ["Fuzz"]))
    package.targets.append(
        .target(name: "Fuzz", dependencies: fuzzed, path: "Fuzz/Sources", swiftSettings: settings))
} else {
    package.targets.append(
        .testTarget(
            name: "FuzzTests", dependencies: fuzzed + ["TestSupport"], path: "Fuzz", exclude: ["Corpus"],
            sources: ["Sources", "Tests"], swiftSettings: settings))
}

extension Target {
    /// The same module as an executable.
    func executable(linking libraries: [LinkerSetting]) -> Target {
        .executableTarget(
            name: name, dependencies: dependencies, swiftSettings: swiftSettings, linkerSettings: libraries)
    }
}
