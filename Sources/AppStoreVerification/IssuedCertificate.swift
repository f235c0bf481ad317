package import OpenSSL

/// A certificate and the one that issued it.
package struct IssuedCertificate: Hashable, Sendable {
    package let certificate: Certificate
    package let issuer: Certificate

    package init(_ certificate: Certificate, issuer: Certificate) {
        self.certificate = certificate
        self.issuer = issuer
    }
}
