// swift-tools-version: 6.2
import Foundation
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility"),
]

// What users of the libraries would write, in a package of their own: a target for each library. script/adoption builds and
// runs a copy of it.
let package = Package(
    name: "adoption",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "herald", path: "../..")],
    targets: [
        .executableTarget(
            name: "DelegationAdoption", dependencies: [.product(name: "Delegation", package: "herald")],
            swiftSettings: settings)
    ]
)

// script/adoption adds the articles of Delegation, a program each, and the examples.
let articles = (try? FileManager.default.contentsOfDirectory(atPath: Context.packageDirectory + "/Articles")) ?? []
for article in articles.sorted() {
    let isOnMainActor = article.hasSuffix("OnMainActor")
    let products = article.hasPrefix("Hub") ? ["Delegation", "Herald"] : ["Delegation"]
    package.targets.append(
        .executableTarget(
            name: article, dependencies: products.map { .product(name: $0, package: "herald") },
            path: "Articles/\(article)",
            swiftSettings: settings + (isOnMainActor ? [.defaultIsolation(MainActor.self)] : [])))
}

#if os(Linux)
    // The hub, beside packages whose targets have the names of well-known ones.
    package.dependencies += [.package(path: "crypto-stub"), .package(path: "sqlite-stub")]
    package.targets.append(
        .executableTarget(
            name: "HubAdoption",
            dependencies: [
                .product(name: "Delegation", package: "herald"),
                .product(name: "Herald", package: "herald"),
                .product(name: "Crypto", package: "crypto-stub"),
                .product(name: "HTTPClient", package: "crypto-stub"),
                .product(name: "CSQLite", package: "sqlite-stub"),
                .product(name: "JSON", package: "sqlite-stub"),
            ],
            swiftSettings: settings))
#endif
