// swift-tools-version: 6.2
import PackageDescription

// Targets with names like those of sqlite-nio and of JSON packages.
let package = Package(
    name: "sqlite-stub",
    products: [
        .library(name: "CSQLite", targets: ["CSQLite"]),
        .library(name: "JSON", targets: ["JSON"]),
    ],
    targets: [.target(name: "CSQLite"), .target(name: "JSON")]
)
