// swift-tools-version: 6.2
import PackageDescription

// An app that depends on both products of Herald, and on packages whose targets have the names of well-known ones.
let package = Package(
    name: "outside",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "herald", path: "../.."),
        .package(path: "crypto-stub"),
        .package(path: "sqlite-stub"),
    ],
    targets: [
        .executableTarget(
            name: "App",
            dependencies: [
                .product(name: "Delegation", package: "herald"),
                .product(name: "Herald", package: "herald"),
                .product(name: "Crypto", package: "crypto-stub"),
                .product(name: "HTTPClient", package: "crypto-stub"),
                .product(name: "CSQLite", package: "sqlite-stub"),
                .product(name: "JSON", package: "sqlite-stub"),
            ],
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")])
    ]
)
