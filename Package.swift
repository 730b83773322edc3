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
        name: name, path: "Sources/C/\(name)", pkgConfig: pkgConfig, providers: package.map { [.apt([$0])] } ?? [])
}

func module(_ name: String, _ dependencies: [Target.Dependency] = [], exclude files: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, exclude: files, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies + ["HeraldTestSupport"], swiftSettings: settings)
}

/// A small program that shows something: `swift run Name`.
func example(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: "Examples/\(name)", swiftSettings: settings)
}

/// A program that a test runs: what depends on how a program begins, and on which thread.
func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: "Tests/Programs/\(name)", swiftSettings: settings)
}

let package = Package(
    name: "herald",
    // For `Delegation`, which needs atomics; the service runs on Linux.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Delegation", targets: ["Delegation"]),
        // On Linux the hub; on other platforms a module that says so when it is used: see below.
        .library(name: "Herald", targets: ["Herald"]),
    ],
    targets: [
        // The multicast delegate. Knows Swift's own libraries and nothing else: any Swift platform.
        module("Delegation", [.target(name: "CDelegation", condition: .when(platforms: [.linux]))]),
        cLibrary("CDelegation"),
    ]
)

// All else: the service, which knows epoll, eventfd and Debian's libraries, and tests and examples.
#if os(Linux)
    package.products.append(.executable(name: "herald", targets: ["HeraldCLI"]))

    package.targets += [
        .testTarget(name: "DelegationTests", dependencies: ["Delegation"], swiftSettings: settings),

        // Examples of what Delegation does, each run by a test. Examples/Apps is a package of its own.
        example("DispatchSystem", ["Delegation"]),
        example("MirrorDrawing", ["Delegation"]),
        example("AppStates", ["Delegation"]),
        example("LoginObservers", ["Delegation"]),
        example("SignUpForm", ["Delegation"]),

        // Programs that a test runs.
        program("AsyncMain", ["Delegation"]),
        program("DispatchMain", ["Delegation"]),
        program("TopLevel", ["Delegation"]),

        // What an app imports: the hub with a store and a sender. Knows how they are put together, and nothing of HTTP servers.
        module(
            "Herald",
            [
                "Delegation", "HeraldCore", "HeraldDelivery", "HeraldModel", "HeraldCrypto", "HeraldJSON",
                "HeraldRuntime", "HeraldSQLite", "HeraldWebhooks",
            ],
            // Herald on other platforms: see below.
            exclude: ["Elsewhere"]),
        // The hub: what is committed, the writer, commands, streams and pulls, nodes. No C, no sockets, no SQL.
        module(
            "HeraldCore",
            ["Delegation", "HeraldDelivery", "HeraldJSON", "HeraldModel", "HeraldRuntime"]),
        // How deliveries are made: routing, lanes, retries. Knows a sender and a clock; no store and no writer.
        module("HeraldDelivery", ["HeraldJSON", "HeraldModel", "HeraldRuntime"]),
        // What events, delegates, apps and the ports EventStore and CallbackSender are: values and rules.
        module("HeraldModel", ["HeraldCrypto", "HeraldJSON", "HeraldRuntime"]),
        // The parts that stores in SQL share: columns and rows, checksums of events, encryption. Knows no database.
        module("HeraldStore", ["HeraldModel", "HeraldCrypto", "CHeraldXXHash", "HeraldRuntime"]),
        // EventStore on SQLite, the embedded default; secrets sealed. Knows SQL, not HTTP.
        module(
            "HeraldSQLite",
            [
                "HeraldModel", "HeraldRuntime", "HeraldCrypto", "HeraldStore", "CHeraldSQLite",
            ]),
        // EventStore on PostgreSQL, a server of its own; secrets sealed. Knows SQL and libpq, not HTTP.
        module(
            "HeraldPostgres",
            [
                "HeraldModel", "HeraldRuntime", "HeraldCrypto", "HeraldStore", "CHeraldPostgres",
            ]),
        // CallbackSender on libcurl: HTTP callbacks, signing, names, the address guard. Knows no store.
        module(
            "HeraldWebhooks",
            [
                "HeraldModel", "HeraldRuntime", "HeraldCrypto", "CHeraldCurl", "CHeraldReads",
                "CHeraldCares", "CHeraldSSL", "HeraldJSON",
            ]),
        // Tracer on the OpenTelemetry protocol: spans, their encoding, a thread that exports them. Knows no store and no server.
        module("HeraldTraces", ["HeraldModel", "HeraldRuntime", "HeraldHTTP"]),
        // A small Swift face of libmicrohttpd; what works around its version 0.9.75 is in `Microhttpd`. In `Client`, a small blocking
        // face of libcurl, for the command line and the export of traces. Knows nothing of events.
        module(
            "HeraldHTTP",
            ["HeraldRuntime", "CHeraldCurl", "CHeraldMicrohttpd", "CHeraldMicrohttpdErrors", "CHeraldGnuTLS"]),
        // The REST contract: routes, JSON, problems, metrics, the dashboard. Knows the hub and HTTP, no C library.
        module(
            "HeraldAPI",
            [
                "HeraldCore", "HeraldDelivery", "HeraldModel", "HeraldHTTP", "HeraldJSON", "HeraldCrypto",
                "HeraldRuntime", "CHeraldResources",
            ],
            exclude: [
                "Server/openapi.yaml", "Server/openapi.json", "Server/problems.md", "Reference", "Dashboard/Pages",
            ]),
        // The command `herald`: arguments, configuration, signals, wiring: the only place that knows everything.
        module(
            "HeraldCLI",
            [
                "Delegation", "HeraldCore", "HeraldDelivery", "HeraldModel", "HeraldAPI", "HeraldHTTP",
                "HeraldJSON", "HeraldPostgres", "HeraldStore", "HeraldSQLite", "HeraldTraces",
                "HeraldWebhooks", "HeraldReceiver", "HeraldCrypto", "HeraldRuntime",
            ]
        )
        .executable(linking: [allocator]),
        // A webhook receiver that does what its script says, good or bad: for tests, and to try things out. Knows nothing of
        // Herald but how it signs.
        module(
            "HeraldReceiver", ["HeraldRuntime", "HeraldJSON", "HeraldCrypto", "CHeraldSSL", "CHeraldNGHTTP2"]),
        // One strict parser and one writer of JSON, over bytes, and JSON Schema 2020-12. Knows nothing of events.
        module("HeraldJSON"),
        // Hashes, signatures, random bytes, sealed secrets: a small face of libcrypto. Knows nothing of events.
        module("HeraldCrypto", ["CHeraldOpenSSL"]),
        // Threads, mailboxes, clocks, addresses, eventfd and epoll: the only place with system calls of our own. Knows nothing of events.
        module("HeraldRuntime", ["CHeraldLinux"]),

        // The C libraries, each imported by the one target above it; CHeraldCurl by HeraldWebhooks and HeraldHTTP, and
        // CHeraldSSL by HeraldWebhooks and HeraldReceiver, with a header for each.
        cLibrary("CHeraldLinux"),
        cLibrary("CHeraldMicrohttpd", "libmicrohttpd", "libmicrohttpd-dev"),
        // The description of the API and the dashboard, as bytes in the binary.
        .target(name: "CHeraldResources", path: "Sources/C/CHeraldResources"),
        // What libmicrohttpd would answer by itself, and TLS sessions that it does not begin itself.
        .target(
            name: "CHeraldMicrohttpdErrors", dependencies: ["CHeraldMicrohttpd", "CHeraldGnuTLS", "CHeraldReads"],
            path: "Sources/C/CHeraldMicrohttpdErrors"),
        cLibrary("CHeraldGnuTLS", "gnutls", "libgnutls28-dev"),
        cLibrary("CHeraldCurl", "libcurl", "libcurl4-openssl-dev"),
        // What libcurl may read from a connection.
        .target(name: "CHeraldReads", path: "Sources/C/CHeraldReads"),
        cLibrary("CHeraldCares", "libcares", "libc-ares-dev"),
        cLibrary("CHeraldOpenSSL", "libcrypto", "libssl-dev"),
        cLibrary("CHeraldSQLite", "sqlite3", "libsqlite3-dev"),
        cLibrary("CHeraldPostgres", "libpq", "libpq-dev"),
        // A header alone: nothing is linked, and so no package is needed to run it.
        cLibrary("CHeraldXXHash", nil, "libxxhash-dev"),
        cLibrary("CHeraldSSL", "libssl", "libssl-dev"),
        cLibrary("CHeraldNGHTTP2", "libnghttp2", "libnghttp2-dev"),

        // Programs with a hub inside, run by a test.
        example("EmbeddedHub", ["Delegation", "Herald"]),
        example("OrderServer", ["Herald"]),
        example("TaskList", ["Herald"]),

        // What publishing costs before anything is stored; run by Benchmarks/run.
        .executableTarget(
            name: "PublishingBenchmark",
            dependencies: [
                "HeraldHTTP", "HeraldCore", "HeraldDelivery", "HeraldModel", "HeraldAPI",
                "HeraldTestSupport",
            ],
            path: "Benchmarks/publishing", swiftSettings: settings, linkerSettings: [allocator]),

        // What publishing costs an app that has a hub inside; run by Benchmarks/run.
        .executableTarget(
            name: "EmbeddingBenchmark", dependencies: ["Herald"], path: "Benchmarks/embedding",
            swiftSettings: settings, linkerSettings: [allocator]),

        // What sending alone costs; run by Benchmarks/run.
        .executableTarget(
            name: "TransportBenchmark", dependencies: ["HeraldModel", "HeraldWebhooks"], path: "Benchmarks/transport",
            swiftSettings: settings, linkerSettings: [allocator]),

        // What several test suites need, each once: a clock, child processes, the hub's values, a store and a sender in memory,
        // temporary folders, raw sockets, the receiver.
        .target(
            name: "HeraldTestSupport",
            dependencies: ["HeraldReceiver", "HeraldCore", "HeraldDelivery", "HeraldModel", "HeraldRuntime"],
            path: "Tests/Support", swiftSettings: settings),
        tests(
            "ExampleTests",
            [
                "DispatchSystem", "MirrorDrawing", "AppStates", "LoginObservers", "SignUpForm",
                "EmbeddedHub", "OrderServer", "TaskList", "AsyncMain", "DispatchMain", "TopLevel",
                "HeraldCLI",
            ]),
        tests("HeraldRuntimeTests", ["HeraldRuntime"]),
        tests("HeraldJSONTests", ["HeraldJSON"]),
        tests("HeraldCryptoTests", ["HeraldCrypto"]),
        tests("HeraldHTTPTests", ["HeraldHTTP", "HeraldRuntime"]),
        tests("HeraldReceiverTests", ["HeraldReceiver", "HeraldCrypto", "HeraldJSON", "HeraldRuntime"]),
        tests("HeraldTracesTests", ["HeraldTraces", "HeraldModel"]),
        tests("HeraldWebhooksTests", ["HeraldWebhooks", "HeraldCrypto", "HeraldModel", "HeraldRuntime", "HeraldJSON"]),
        // The conformance suite of all stores.
        tests("HeraldStoreTests", ["HeraldModel", "HeraldPostgres", "HeraldSQLite", "HeraldStore", "HeraldReceiver"]),
        tests(
            "HeraldPostgresTests",
            ["HeraldPostgres", "HeraldStore", "HeraldModel", "HeraldCrypto", "HeraldRuntime"]),
        tests(
            "HeraldSQLiteTests",
            [
                "HeraldSQLite", "HeraldStore", "HeraldCore", "HeraldModel", "HeraldRuntime", "HeraldCrypto",
                "CHeraldSQLite",
            ]),
        tests("HeraldModelTests", ["HeraldModel", "HeraldJSON"]),
        tests(
            "HeraldCoreTests",
            ["HeraldCore", "HeraldDelivery", "HeraldModel", "Delegation", "HeraldJSON", "HeraldRuntime"]),
        tests(
            "HeraldAPITests",
            [
                "HeraldAPI", "HeraldCLI", "HeraldCrypto", "Herald", "HeraldCore", "HeraldDelivery",
                "HeraldModel", "HeraldHTTP", "HeraldJSON", "HeraldRuntime", "HeraldSQLite",
                "HeraldWebhooks",
            ]),
        tests(
            "EndToEndTests",
            ["HeraldCLI", "HeraldAPI", "HeraldJSON", "HeraldReceiver", "HeraldWebhooks"]),
    ]

    // Fuzzers of our own parsers. With HERALD_FUZZ a library for script/fuzz alone, since with it every other target has to be
    // testable; otherwise part of the tests, which run the inputs that are kept.
    let fuzzed: [Target.Dependency] = [
        "HeraldCore", "HeraldDelivery", "HeraldModel", "HeraldAPI", "HeraldHTTP", "HeraldJSON",
        "HeraldWebhooks",
    ]
    if Context.environment["HERALD_FUZZ"] != nil {
        package.products.append(.library(name: "Fuzz", type: .static, targets: ["Fuzz"]))
        package.targets.append(
            .target(name: "Fuzz", dependencies: fuzzed, path: "Fuzz/Sources", swiftSettings: settings))
    } else {
        package.targets.append(
            .testTarget(
                name: "FuzzTests", dependencies: fuzzed + ["HeraldTestSupport"], path: "Fuzz", exclude: ["Corpus"],
                sources: ["Sources", "Tests"], swiftSettings: settings))
    }
#else
    // A package that depends on Herald is resolved and built on every platform: code for the hub stands in `#if os(Linux)`. Without
    // that, the compiler says why it is not available.
    package.targets.append(.target(name: "Herald", path: "Sources/Herald/Elsewhere", swiftSettings: settings))
#endif

extension Target {
    /// The same module as an executable.
    func executable(linking libraries: [LinkerSetting]) -> Target {
        .executableTarget(
            name: name, dependencies: dependencies, swiftSettings: swiftSettings, linkerSettings: libraries)
    }
}
