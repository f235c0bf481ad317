import AppStore
import OpenSSL

/// The contents of the three certificates, modelled on Apple's but without Apple's name.
extension TestAuthority {
    static func rootRequest(_ options: AuthorityOptions) -> CertificateBuilder {
        var request = request(
            commonName: "Simulated Root CA - G3",
            unit: "Test Certification Authority",
            options,
            validity: options.rootValidity,
            serialByteCount: 8
        )
        request.isCA = true
        request.keyUsage = [.keyCertSign, .crlSign]
        return request
    }

    static func intermediateRequest(_ options: AuthorityOptions) -> CertificateBuilder {
        var request = request(
            commonName: "Test Worldwide Developer Relations Certification Authority",
            unit: "G6",
            options,
            validity: options.intermediateValidity,
            serialByteCount: 20
        )
        request.isCA = !options.flaws.contains(.intermediateIsNoAuthority)
        request.pathLength = request.isCA ? 0 : nil
        request.keyUsage = options.flaws.contains(.intermediateMayNotSignCertificates) ? [.crlSign] : [.keyCertSign, .crlSign]
        if !request.isCA { request.keyUsage = [.digitalSignature] }
        request.extensions = CertificateExtensions.ofIntermediate(
            marked: !options.flaws.contains(.intermediateWithoutMarker),
            responder: options.responder
        )
        return request
    }

    static func leafRequest(_ options: AuthorityOptions) -> CertificateBuilder {
        var request = request(
            commonName: "Test ECC Mac App Store and iTunes Store Receipt Signing",
            unit: "Test Worldwide Developer Relations",
            options,
            validity: options.leafValidity,
            serialByteCount: 16
        )
        request.isCA = options.flaws.contains(.leafIsAuthority)
        request.keyUsage = options.flaws.contains(.leafMayNotSign) ? [.crlSign] : [.digitalSignature]
        request.extensions = CertificateExtensions.ofLeaf(
            marked: !options.flaws.contains(.leafWithoutMarker),
            responder: options.responder
        )
        return request
    }

    private static func request(
        commonName: String,
        unit: String,
        _ options: AuthorityOptions,
        validity: AuthorityOptions.Validity,
        serialByteCount: Int
    ) -> CertificateBuilder {
        var generator = SystemRandomNumberGenerator()
        var serial = (0..<serialByteCount).map { _ in UInt8.random(in: 0...255, using: &generator) }
        // RFC 5280 §4.1.2.2: positive, and no more than twenty bytes with the sign.
        serial[0] = serial[0] & 0x7f | 0x40
        return CertificateBuilder(
            subject: DistinguishedName(
                commonName: commonName,
                organizationalUnit: unit,
                organization: options.organization,
                country: "US"
            ),
            serialNumber: serial,
            notBefore: validity.notBefore.millisecondsSince1970 / 1000,
            notAfter: validity.notAfter.millisecondsSince1970 / 1000
        )
    }
}
