// swift-tools-version: 6.2
import PackageDescription

// Targets with names like those of swift-crypto and of HTTP clients.
let package = Package(
    name: "crypto-stub",
    products: [
        .library(name: "Crypto", targets: ["Crypto"]),
        .library(name: "HTTPClient", targets: ["HTTPClient"]),
    ],
    targets: [.target(name: "Crypto"), .target(name: "HTTPClient")]
)
