package import AppStore
package import OpenSSL

/// The TLS certificate of a simulated host, issued by a throw-away authority.
package struct SimulatedHostIdentity: Sendable {
    /// The authority's certificate, for clients to trust.
    package let rootPEM: String
    package let certificatePEM: String
    /// The private key, a secret.
    package let keyPEM: String

    /// Creates an authority and a certificate issued by it.
    ///
    /// - Parameters:
    ///   - name: the host's DNS name.
    ///   - instant: the middle of the certificate's two years.
    package static func generate(name: String = "localhost", around instant: Timestamp) throws(OpenSSLError) -> SimulatedHostIdentity {
        let (rootKey, key) = (try PrivateKey.generate(.p256), try PrivateKey.generate(.p256))
        var rootRequest = request("Simulated Root CA - Hosts", .years(20, around: instant))
        rootRequest.isCA = true
        rootRequest.keyUsage = [.keyCertSign, .crlSign]
        let root = try rootRequest.selfSigned(by: rootKey)
        var hostRequest = request(name, .years(1, around: instant))
        hostRequest.keyUsage = [.digitalSignature]
        let serverAuthentication = DER.sequence(DER.oid(1, 3, 6, 1, 5, 5, 7, 3, 1))
        let names = DER.sequence(DER.context(2, constructed: false, Array(name.utf8)))
        hostRequest.extensions = [
            .init(oid: "2.5.29.37", value: serverAuthentication), .init(oid: "2.5.29.17", value: names),
        ]
        let certificate = try hostRequest.issued(for: key.publicKey, by: root, key: rootKey)
        return SimulatedHostIdentity(rootPEM: root.pem, certificatePEM: certificate.pem, keyPEM: key.pem)
    }

    private static func request(_ commonName: String, _ validity: AuthorityOptions.Validity) -> CertificateBuilder {
        var generator = SystemRandomNumberGenerator()
        // RFC 5280 §4.1.2.2: positive, and no more than twenty bytes with the sign.
        let serial = [UInt8.random(in: 0x40...0x7f, using: &generator)] + (0..<15).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return CertificateBuilder(
            subject: DistinguishedName(commonName: commonName, organization: "Simulated Inc."),
            serialNumber: serial,
            notBefore: validity.notBefore.millisecondsSince1970 / 1000,
            notAfter: validity.notAfter.millisecondsSince1970 / 1000
        )
    }
}

extension SimulatedHostIdentity: CustomStringConvertible, CustomReflectable {
    /// Without the key.
    package var description: String { "a host's certificate" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
