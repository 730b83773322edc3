@testable import HeraldWebhooks

private let strict = AddressGuard()

/// An accepted URL is printed in a form that parses to the same URL. An address in it is allowed or blocked like the address alone.
func fuzzURL(_ bytes: [UInt8]) {
    guard let url = try? CallbackURL(bytes.text) else { return }
    guard let again = try? CallbackURL(url.text) else { preconditionFailure("it can't be read again") }
    precondition(again == url && url.port > 0 && !url.host.isEmpty)
    precondition(url.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") })
    guard let address = url.address else { return }
    precondition(strict.authorize(url) == strict.authorize(address: address, port: url.port))
    if address.isLoopback || address.isUnspecified { precondition(strict.authorize(url) != .allowed) }
}

/// An entry of the lists of networks.
func fuzzNetwork(_ bytes: [UInt8]) {
    guard let rule = try? NetworkRule(parsing: bytes.text) else { return }
    guard let again = try? NetworkRule(parsing: rule.description) else { preconditionFailure("it can't be read again") }
    precondition(again == rule && rule.contains(rule.base))
}
