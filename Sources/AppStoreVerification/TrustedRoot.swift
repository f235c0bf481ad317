package import AppStore
package import OpenSSL

/// A root certificate and the environments that it is trusted for.
package struct TrustedRoot: Sendable {
    /// The certificate is not self-signed, so its trust would depend on an issuer that is not configured.
    package struct NotSelfSigned: Error, CustomStringConvertible {
        package var description: String { "the certificate is not self-signed and cannot be a root" }
    }

    package let certificate: Certificate
    /// Nil is any environment.
    package let environments: Set<AppStoreEnvironment>?

    package init(_ certificate: Certificate, environments: Set<AppStoreEnvironment>?) throws(NotSelfSigned) {
        guard certificate.isSelfSigned else { throw NotSelfSigned() }
        self.certificate = certificate
        self.environments = environments
    }

    /// Whether this root is trusted for a payload of that environment.
    ///
    /// A payload that names none, as before 2022, may be of Production or of the sandbox: the root must be trusted for both.
    func isTrusted(for environment: AppStoreEnvironment?) -> Bool {
        guard let environments else { return true }
        return environment.map(environments.contains) ?? environments.isSuperset(of: [.production, .sandbox])
    }
}
