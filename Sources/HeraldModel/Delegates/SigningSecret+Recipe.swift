import HeraldCrypto

extension Recipe {
    /// The kind of key that is made for its schemes.
    package var keyScheme: SigningSecret.Scheme {
        let needsPair = RecipePlan(self)?.signatures.contains { signature in
            if case .scheme(let scheme) = signature { scheme.algorithm == .ed25519 } else { false }
        }
        return needsPair == true ? .v1a : .v1
    }
}

extension SigningSecret {
    /// Why the key can't sign the requests of a delegate with these settings.
    package func problem(for settings: WebhookSettings) -> String? {
        let signatures = settings.request.flatMap { RecipePlan($0) }?.signatures ?? [.standard]
        // Before the length of the text: a longer text is no key of this signature either.
        let isStandard = signatures.contains { if case .standard = $0 { true } else { false } }
        if scheme == .text, isStandard {
            return
                "must be a string that begins with whsec_ (for v1) or whsk_ (for v1a): other texts are for schemes in "
                + "request.sign, such as github"
        }
        if let problem { return problem }
        for signature in signatures {
            switch signature {
            case .standard: continue
            case .scheme(let scheme):
                do throws(SchemeKeyError) {
                    _ = try scheme.key(text, for: .signing)
                } catch {
                    return "\(error.description), for \(scheme.header)"
                }
            }
        }
        return nil
    }
}
