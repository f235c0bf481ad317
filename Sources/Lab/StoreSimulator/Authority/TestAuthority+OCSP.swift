package import OpenSSL

/// The answers of an authority's OCSP responder.
extension TestAuthority {
    /// Who signs an answer.
    package enum OCSPSigner: CaseIterable, Sendable {
        /// The certificate's issuer.
        case issuer
        /// A responder that the issuer has authorized.
        case delegate
        /// A certificate of the issuer without the purpose of OCSP.
        case delegateWithoutPurpose
        /// A responder with the purpose, of another authority with the same names.
        case stranger
    }

    /// An answer about the leaf or the intermediate, in DER. Times are in seconds since 1970.
    package func ocspAnswer(
        about certificate: Certificate,
        _ status: OCSPAnswerBuilder.Status,
        thisUpdate: Int64,
        nextUpdate: Int64?,
        by signer: OCSPSigner = .issuer
    ) throws(OpenSSLError) -> [UInt8] {
        let (issuer, key) = certificate == intermediate ? (root, rootKey) : (intermediate, intermediateKey)
        let answer = OCSPAnswerBuilder(about: certificate, issuedBy: issuer, status, thisUpdate: thisUpdate, nextUpdate: nextUpdate)
        guard signer != .issuer else { return try answer.signed(by: issuer, key: key) }
        let delegateKey = try PrivateKey.generate(.p256)
        var request = CertificateBuilder(
            subject: DistinguishedName(commonName: "Simulated OCSP Responder"),
            serialNumber: [0x51],
            notBefore: issuer.notBefore,
            notAfter: issuer.notAfter
        )
        request.keyUsage = .digitalSignature
        if signer != .delegateWithoutPurpose {
            request.extensions = [.init(oid: "2.5.29.37", value: DER.sequence(DER.oid(1, 3, 6, 1, 5, 5, 7, 3, 9)))]
        }
        let delegate = try request.issued(
            for: delegateKey.publicKey,
            by: issuer,
            key: signer == .stranger ? PrivateKey.generate(.p384) : key
        )
        return try answer.signed(by: delegate, key: delegateKey)
    }
}
