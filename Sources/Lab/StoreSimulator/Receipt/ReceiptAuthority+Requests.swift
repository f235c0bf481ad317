import AppStore
import OpenSSL

/// The contents of the certificates, modelled on Apple's but without Apple's name.
extension ReceiptAuthority {
    enum Role { case root, intermediate, leaf }

    static func request(_ role: Role, _ options: AuthorityOptions, _ generation: Generation) -> CertificateBuilder {
        var request = CertificateBuilder(
            subject: subject(of: role, options, generation),
            serialNumber: serialNumber(),
            notBefore: validity(of: role, options).notBefore.millisecondsSince1970 / 1000,
            notAfter: validity(of: role, options).notAfter.millisecondsSince1970 / 1000
        )
        request.digest = generation.digest
        switch role {
        case .root:
            request.isCA = true
            request.keyUsage = [.keyCertSign, .crlSign]
        case .intermediate:
            request.isCA = !options.flaws.contains(.intermediateIsNoAuthority)
            request.keyUsage = options.flaws.contains(.intermediateMayNotSignCertificates) ? [.crlSign] : [.keyCertSign, .crlSign]
            if !request.isCA { request.keyUsage = [.digitalSignature] }
            request.extensions = CertificateExtensions.ofIntermediate(marked: !options.flaws.contains(.intermediateWithoutMarker))
        case .leaf:
            request.isCA = options.flaws.contains(.leafIsAuthority)
            request.keyUsage = options.flaws.contains(.leafMayNotSign) ? [.crlSign] : [.digitalSignature]
            request.extensions = CertificateExtensions.ofLeaf(marked: !options.flaws.contains(.leafWithoutMarker))
        }
        return request
    }

    private static func subject(of role: Role, _ options: AuthorityOptions, _ generation: Generation) -> DistinguishedName {
        let unit = generation == .sha1 ? "G1" : "G5"
        let (name, organizationalUnit) =
            switch role {
            case .root: ("Simulated Root CA", "Test Certification Authority")
            case .intermediate: ("Test Worldwide Developer Relations Certification Authority", unit)
            case .leaf: ("Test Mac App Store and iTunes Store Receipt Signing", "Test Worldwide Developer Relations")
            }
        return DistinguishedName(
            commonName: name,
            organizationalUnit: organizationalUnit,
            organization: options.organization,
            country: "US"
        )
    }

    private static func validity(of role: Role, _ options: AuthorityOptions) -> AuthorityOptions.Validity {
        switch role {
        case .root: options.rootValidity
        case .intermediate: options.intermediateValidity
        case .leaf: options.leafValidity
        }
    }

    /// RFC 5280 §4.1.2.2: positive, and no more than twenty bytes with the sign.
    private static func serialNumber() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var serial = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
        serial[0] = serial[0] & 0x7f | 0x40
        return serial
    }
}
