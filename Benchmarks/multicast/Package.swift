// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that the library is measured as an app would use it: from another package.
let package = Package(
    name: "multicast-benchmark",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "herald", path: "../..")],
    targets: [
        .executableTarget(
            name: "MulticastBenchmark", dependencies: [.product(name: "Delegation", package: "herald")],
            path: "Sources",
            swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("MemberImportVisibility")])
    ]
)
