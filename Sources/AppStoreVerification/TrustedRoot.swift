package import AppStore
package import OpenSSL

/// A root certificate and the environments that it may vouch for.
package struct TrustedRoot: Sendable {
    /// A certificate that cannot be an anchor because it is not self-signed: trust in it would rest on an issuer that nobody configured.
    package struct NotSelfSigned: Error, CustomStringConvertible {
        package var description: String { "the certificate is not self-signed and cannot be a root" }
    }

    /// The anchor.
    package let certificate: Certificate
    /// Nil vouches for any environment.
    package let environments: Set<AppStoreEnvironment>?

    package init(_ certificate: Certificate, environments: Set<AppStoreEnvironment>?) throws(NotSelfSigned) {
        guard certificate.isSelfSigned else { throw NotSelfSigned() }
        self.certificate = certificate
        self.environments = environments
    }

    /// Whether a payload of this environment may be signed below this root; one that names none needs a root without limits.
    func vouches(for environment: AppStoreEnvironment?) -> Bool {
        guard let environments else { return true }
        return environment.map(environments.contains) ?? false
    }
}
