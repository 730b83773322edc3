extension Scheme {
    package static let maxTextBytes = 256

    /// All errors of the fields, each with a pointer below the scheme. Names of members are those of the HTTP API.
    package var problems: [(pointer: String, detail: String)] {
        var found: [(pointer: String, detail: String)] = []
        for (pointer, name) in [
            ("/header", header), ("/timestamp_header", timestampHeader), ("/id_header", idHeader),
        ] {
            if let name, let problem = Self.problem(ofHeader: name) { found.append((pointer, problem)) }
        }
        let names = headerNames.map { $0.lowercased() }
        if Set(names).count < names.count {
            found.append(("/header", "must differ from the other headers of the scheme"))
        }
        found += valueProblems
        if algorithm == .token {
            if key == .whsec { found.append(("/key", "must be text: a token is sent as it is")) }
        } else {
            found += contentProblems
        }
        return found
    }

    private static func problem(ofHeader name: String) -> String? {
        if let problem = HeaderName.problem(name) { return problem }
        return HeaderName.framing.contains(name.lowercased()) ? "is a header that HTTP itself uses" : nil
    }

    private var valueProblems: [(pointer: String, detail: String)] {
        guard value.utf8.count <= Self.maxTextBytes, value.utf8.allSatisfy({ (0x20...0x7e) ~= $0 }),
            value.utf8.first != 0x20, value.utf8.last != 0x20
        else {
            return [
                (
                    "/value",
                    "must be at most \(Self.maxTextBytes) visible ASCII characters, and spaces between them"
                )
            ]
        }
        do throws(SchemeTextError) {
            let pattern = try valuePattern
            guard pattern.count(of: .signature) == 1 else { return [("/value", "must contain {signature} once")] }
            if pattern.count(of: .timestamp) > 1 || pattern.count(of: .id) > 1 {
                return [("/value", "must contain each placeholder once at most")]
            }
            return pattern.isUnambiguous ? [] : [("/value", "must have a text between two placeholders")]
        } catch {
            return [("/value", error.detail)]
        }
    }

    private var contentProblems: [(pointer: String, detail: String)] {
        guard content.utf8.count <= Self.maxTextBytes else {
            return [("/content", "must be at most \(Self.maxTextBytes) bytes")]
        }
        do throws(SchemeTextError) {
            let pattern = try contentPattern
            var found: [(pointer: String, detail: String)] = []
            if !pattern.contains(.body), !pattern.contains(.form) {
                found.append(("/content", "must contain {body} or {form}: nothing else of the request would be signed"))
            }
            // An attempt hashes the body once for each.
            if SchemePattern.Placeholder.allCases.contains(where: { pattern.count(of: $0) > 1 }) {
                found.append(("/content", "must contain each placeholder once at most"))
            }
            let value = try? valuePattern
            if pattern.contains(.timestamp), timestampHeader == nil, value?.contains(.timestamp) == false {
                found.append(
                    ("/timestamp_header", "is required, or {timestamp} in value: the receiver needs the signed time"))
            }
            if pattern.contains(.id), idHeader == nil, value?.contains(.id) == false {
                found.append(("/id_header", "is required, or {id} in value: the receiver needs the signed id"))
            }
            return found
        } catch {
            return [("/content", error.detail)]
        }
    }

    var contentPattern: SchemePattern {
        get throws(SchemeTextError) { try SchemePattern(content, allowing: [.id, .timestamp, .body, .url, .form]) }
    }

    /// Prepares the scheme for use.
    func patterns() throws(CryptoError) -> (content: SchemePattern, value: SchemePattern) {
        if let problem = problems.first { throw .invalidScheme("\(problem.pointer) \(problem.detail)") }
        do throws(SchemeTextError) {
            // A token signs no content.
            let content = try algorithm == .token ? SchemePattern("", allowing: []) : contentPattern
            return (content, try valuePattern)
        } catch {
            throw .invalidScheme(error.detail)
        }
    }

    var valuePattern: SchemePattern {
        get throws(SchemeTextError) {
            try SchemePattern(value, allowing: algorithm == .token ? [.signature] : [.signature, .timestamp, .id])
        }
    }
}
