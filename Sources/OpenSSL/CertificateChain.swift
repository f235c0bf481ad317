internal import COpenSSL

/// Path validation of RFC 5280 §6 by libcrypto, without the system's trust store and without network access.
package enum CertificateChain {
    /// Whether `leaf` chains through any of `intermediates`, which are untrusted, to one of `roots`, which are the only anchors.
    ///
    /// Anchors must be self-signed. Extended key usage, host names and revocation are not checked.
    ///
    /// - Parameters:
    ///   - time: Seconds since 1970. Validity periods, also the anchor's, include both ends (RFC 5280 §4.1.2.5).
    ///   - allowingSHA1: Accepts certificates signed with SHA-1 too; keys still need 112 bits of security.
    package static func validate(
        leaf: Certificate,
        intermediates: [Certificate],
        roots: [Certificate],
        at time: Int64,
        allowingSHA1: Bool = false
    ) -> ChainVerdict {
        if leaf.isValid(at: time) {
            // An expired certificate must not hide a valid one of the same name.
            let (intermediates, roots) = (intermediates.filter { $0.isValid(at: time) }, roots.filter { $0.isValid(at: time) })
            let verdict = verify(leaf, intermediates, roots, allowingSHA1: allowingSHA1)
            if case .accepted = verdict { return verdict }
        }
        // Only to find the reason: all certificates, also those outside their validity period.
        switch verify(leaf, intermediates, roots, allowingSHA1: allowingSHA1) {
        case .refused(let refusal): return .refused(refusal)
        case .accepted(let path): return .refused(ChainRefusal(outsideValidity: path, at: time))
        }
    }

    /// Without times: libcrypto treats the last second of a validity period as expired.
    private static func verify(
        _ leaf: Certificate,
        _ intermediates: [Certificate],
        _ roots: [Certificate],
        allowingSHA1: Bool
    ) -> ChainVerdict {
        defer { ERR_clear_error() }
        let context = X509_STORE_CTX_new()
        defer { X509_STORE_CTX_free(context) }
        let untrusted = COpenSSL_sk_X509_new()
        defer { COpenSSL_sk_X509_free(untrusted) }
        let trusted = COpenSSL_sk_X509_new()
        defer { COpenSSL_sk_X509_free(trusted) }
        guard let context, push(intermediates, onto: untrusted), push(roots, onto: trusted),
            X509_STORE_CTX_init(context, nil, leaf.handle, untrusted) == 1
        else { return .refused(ChainRefusal(problem: .other, depth: 0, code: X509_V_ERR_OUT_OF_MEM)) }
        X509_STORE_CTX_set0_trusted_stack(context, trusted)
        let parameters = X509_STORE_CTX_get0_param(context)
        X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_NO_CHECK_TIME))
        // Level 2 is 112 bits of security: no SHA-1 signature and no RSA key below 2048 bits anywhere in the chain. A level that allows
        // SHA-1 also allows MD5 and any key, so SHA-1 needs level 0 and the check of the path below.
        X509_VERIFY_PARAM_set_auth_level(parameters, allowingSHA1 ? 0 : 2)
        // The context borrows the certificates and does not outlive this call.
        return withExtendedLifetime((leaf, intermediates, roots)) {
            guard X509_verify_cert(context) == 1 else { return .refused(ChainRefusal(context)) }
            let path = path(of: context, among: [leaf] + intermediates + roots)
            if allowingSHA1, let refusal = ChainRefusal(weaknessIn: path) { return .refused(refusal) }
            return .accepted(path: path)
        }
    }

    private static func push(_ certificates: [Certificate], onto stack: OpaquePointer?) -> Bool {
        stack != nil && certificates.allSatisfy { COpenSSL_sk_X509_push(stack, $0.handle) > 0 }
    }

    private static func path(of context: OpaquePointer, among candidates: [Certificate]) -> [Certificate] {
        let chain = X509_STORE_CTX_get0_chain(context)
        return (0..<COpenSSL_sk_X509_num(chain)).compactMap { index in
            let handle = COpenSSL_sk_X509_value(chain, index)
            return candidates.first { $0.handle == handle }
        }
    }
}
