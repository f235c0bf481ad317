/// The OCSP responders that may be asked, of those that certificates name.
package enum ResponderHosts: Sendable {
    /// Apple's, on port 80: all certificates are below Apple's roots.
    case apple
    /// Any that can exist: an operator trusts other roots, too, and these name responders of their own.
    case any

    /// The first address that may be asked. http only: an answer is signed, and TLS would need an answer about the responder's certificate.
    func first(of addresses: [String]) -> String? { addresses.first(where: admits) }

    private func admits(_ address: String) -> Bool {
        let scheme = "http://"
        guard address.utf8.count <= 2048, address.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), address.hasPrefix(scheme) else {
            return false
        }
        let authority = address.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
        guard !authority.isEmpty, !authority.contains("@"), !authority.contains("\\") else { return false }
        switch self {
        case .apple: return authority.lowercased().hasSuffix(".apple.com")
        // No such name exists (RFC 6761 §6.4): simulated certificates have them.
        case .any: return !authority.prefix { $0 != ":" }.lowercased().hasSuffix(".invalid")
        }
    }
}
