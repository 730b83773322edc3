import Glibc
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

// Access keys and the certificate. Wrong permissions of their files are errors of the settings.
extension Doctor {
    mutating func checkKeys() {
        if let key = settings.adminKey {
            if KeyStrength.isWeak(key) {
                warn(
                    "keys", "the admin key can be guessed",
                    "replace it with a random one, as `openssl rand -base64 32` prints it")
            } else {
                ok("keys", "the admin key is a setting")
            }
        } else if settings.given.keys.contains(where: { $0.hasPrefix("admin-key") }) {
            // The error of the setting says what is wrong with it.
        } else if let keys, !keys.isEmpty {
            checkStored(keys)
        } else if settings.needsKey {
            if settings.store == nil {
                ok("keys", "without a key in the database, the server creates one at its start")
            } else if keys != nil {
                fail(
                    "keys", "no key is in the database: a server on \(settings.listen) starts on a terminal only",
                    Self.adviceOnAdminKey)
            }
        } else if !settings.listen.isLoopback {
            warn(
                "keys", "without a key, every client that reaches \(settings.listen) has full access",
                "\(Self.adviceOnAdminKey), and remove --allow-anonymous")
        } else {
            ok("keys", "without a key in the database, all users of this machine have access")
        }
        let file = settings.data + "/admin-key"
        if settings.store == nil, access(file, F_OK) == 0 {
            warn("keys", "\(file) still has the first admin key", "note the key elsewhere, then: rm \(file)")
        }
    }

    private static var adviceOnAdminKey: String { "set \(Option.variable("admin-key")) or --admin-key-file" }

    /// - Parameter keys: at least one, so that requests need a key.
    private mutating func checkStored(_ keys: [APIKey]) {
        let now = Clock.system.wall()
        let valid = keys.filter { $0.isValid(at: now) }
        if valid.isEmpty {
            fail("keys", "all keys in the database have expired: every request is refused", Self.adviceOnAdminKey)
        } else if !valid.contains(where: { $0.scopes.contains(.admin) }) {
            warn("keys", "no valid key in the database has the scope admin: no keys can be made", Self.adviceOnAdminKey)
        } else {
            ok("keys", "valid keys in the database: \(valid.count)")
        }
    }

    mutating func checkTLS() {
        guard let files = settings.tls else {
            return ok("tls", "plain HTTP: no certificate is set")
        }
        do throws(TLSFilesError) {
            checkTime(try files.load())
        } catch {
            fail("tls", error.description, error.advice)
        }
    }

    private mutating func checkTime(_ certificate: ServerCertificate) {
        let now = Clock.system.wall() / 1000
        let end = Timestamp(milliseconds: certificate.expiration * 1000).description
        let renewal = "renew it, and send HUP to a running server"
        if certificate.activation > now {
            let start = Timestamp(milliseconds: certificate.activation * 1000).description
            fail("tls", "the certificate is valid from \(start) on", "use another one, or set the clock")
        } else if certificate.expiration <= now {
            fail("tls", "the certificate expired at \(end)", renewal)
        } else if certificate.expiration - now < CertificateLog.soon {
            warn("tls", "the certificate expires at \(end)", renewal)
        } else {
            ok("tls", "the key belongs to the certificate, which is valid until \(end)")
        }
        let missing = (settings.allowedHosts ?? []).filter { !certificate.covers(Self.bare($0)) }
        if !missing.isEmpty {
            let names = missing.joined(separator: ",")
            warn(
                "tls", "the certificate is not for \(names), which --allowed-hosts has",
                "use a certificate for these names, too, or remove them from --allowed-hosts")
        }
    }

    /// An address without its brackets.
    private static func bare(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }
}

/// An estimate of how hard a key is to guess. Random keys are never weak.
enum KeyStrength {
    private static let leastBits = 80.0
    /// In lower case, as people write them into examples.
    private static let words = ["change", "secret", "password", "admin", "herald", "example", "test", "1234", "abcd"]

    static func isWeak(_ key: String) -> Bool {
        var rest = key.lowercased()
        for word in words {
            while let range = rest.place(of: word) { rest.removeSubrange(range) }
        }
        return bits(rest) < leastBits
    }

    /// The entropy of the distribution of the characters.
    private static func bits(_ text: String) -> Double {
        let counts = text.utf8.reduce(into: [UInt8: Int]()) { $0[$1, default: 0] += 1 }
        let total = Double(text.utf8.count)
        return counts.values.reduce(0) { $0 - Double($1) * log2(Double($1) / total) }
    }
}
