import HeraldCrypto
package import HeraldJSON

/// Reads the setting `request`: merges the given members into those of before, as a merge patch does.
package enum RecipeInput {
    package static let pointer = "/request"

    /// - Parameters:
    ///   - value: an object; `null` removes the recipe.
    ///   - recipe: the one of before, which stays if there are errors.
    ///   - errors: all errors are appended.
    package static func merge(_ value: JSONValue, into recipe: inout Recipe?, _ errors: inout [FieldError]) {
        if value.isNull {
            recipe = nil
            return
        }
        guard value.kind == .object else { return errors.append(FieldError(pointer, "must be an object, or null")) }
        let count = errors.count
        let before = recipe?.parts ?? []
        var members: [String: [UInt8]] = [:]
        func old(_ name: String) -> JSONValue? { before.first { $0.name == name }?.value }
        func set(_ name: String, _ value: JSONValue, over auth: JSONValue?) {
            // Without white space: a recipe that was written with another one is the same.
            members[name] =
                value.isNull
                ? nil
                : name == "auth"
                    ? RecipeAuth.merged(value, over: auth) : JSONWriter.document(of: CompactJSON(value))
        }

        if let name = value["preset"], !name.isNull {
            guard let text = name.string, let preset = Preset.named(text) else {
                return errors.append(
                    FieldError(
                        "\(pointer)/preset",
                        "is not the name of a preset; names are: \(Preset.names.joined(separator: ", "))"))
            }
            // It replaces what was there. The secret of the same kind of `auth` stays.
            for (name, value) in preset.request.members { set(name, value, over: old("auth")) }
        } else {
            for (name, value) in before { members[name] = value.bytes }
        }
        let auth = members["auth"].flatMap { try? JSONDocument(parsing: $0) }?.root ?? old("auth")
        for (name, value) in value.members {
            guard Recipe.members.contains(name) else {
                errors.append(.noMember(JSONPointer.child(pointer, name), of: Recipe.members))
                continue
            }
            set(name, value, over: auth)
        }
        let bytes = JSONWriter.document { object in
            for name in Recipe.members {
                if let text = members[name] { object.member(name, RawJSON(text[...])) }
            }
        }
        guard bytes.count <= Recipe.maxBytes else {
            return errors.append(
                FieldError(pointer, "must have at most \(Recipe.maxBytes) bytes with its preset, not \(bytes.count)"))
        }
        let merged = Recipe(stored: bytes)
        let changed = value.members.map(\.key).filter { members[$0] != old($0)?.bytes }
        let plan = RecipePlan(merged.parts, at: pointer, changed: Set(changed), &errors)
        // The pointers count all signatures, so that each must be valid.
        if errors.count == count { errors += repeatedHeaders(plan) }
        if errors.count == count { recipe = members.isEmpty ? nil : merged }
    }

    /// A receiver would get both values in one, `a, b`. Signatures may share the headers of the time and the id.
    private static func repeatedHeaders(_ plan: RecipePlan) -> [FieldError] {
        let others = plan.unsignedHeaderNames
        var signatures: Set<String> = []
        return plan.signatures.enumerated().compactMap { index, signature in
            let place = "\(pointer)/sign/\(index)"
            let scheme: Scheme = if case .scheme(let given) = signature { given } else { .standard }
            if let header = scheme.headerNames.first(where: { others.contains($0.lowercased()) }) {
                return FieldError(place, "has a header that headers or auth sets too: \(header)")
            }
            if signatures.insert(scheme.header.lowercased()).inserted { return nil }
            return FieldError(place, "has the header of another signature: \(scheme.header)")
        }
    }
}
