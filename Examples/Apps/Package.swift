// swift-tools-version: 6.2
import PackageDescription

// The same small app in SwiftUI and in UIKit, for platforms that have them. On others the library is empty; there a test
// compiles both with stand-ins.
let package = Package(
    name: "apps",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .visionOS(.v2)],
    products: [.library(name: "Apps", targets: ["Apps"])],
    dependencies: [.package(name: "herald", path: "../..")],
    targets: [
        .target(
            name: "Apps", dependencies: [.product(name: "Delegation", package: "herald")],
            swiftSettings: [.swiftLanguageMode(.v6)])
    ]
)
