package import HeraldJSON

/// A recipe with a name: members of the setting `request`, which those that are given beside it replace.
package struct Preset: Sendable {
    package let name: String
    /// An object with members of a recipe.
    package let request: JSONValue

    private static let all: [Preset] = []

    package static let names = all.map(\.name)

    package static func named(_ name: String) -> Preset? { all.first { $0.name == name } }
}
