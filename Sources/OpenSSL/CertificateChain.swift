internal import COpenSSL

/// Path validation of RFC 5280 §6 by libcrypto, without any store of the system's and without network.
package enum CertificateChain {
    /// Whether `leaf` chains through one `intermediate` to `root` at `time`.
    package static func validate(leaf: Certificate, intermediate: Certificate, root: Certificate, at time: Int64) -> ChainVerdict {
        validate(leaf: leaf, intermediates: [intermediate], roots: [root], at: time)
    }

    /// Whether `leaf` chains through any of `intermediates`, which are untrusted, to one of `roots`, which alone are anchors.
    ///
    /// `time` is in seconds since 1970, and both ends of every validity period, the anchor's included, belong to it (RFC 5280 §4.1.2.5).
    /// Anchors must be self-signed. Extended key usage, names of hosts and revocation are not asked. `allowingSHA1` takes certificates that
    /// were signed with SHA-1 as well; keys are held to 112 bits of security all the same.
    package static func validate(
        leaf: Certificate,
        intermediates: [Certificate],
        roots: [Certificate],
        at time: Int64,
        allowingSHA1: Bool = false
    ) -> ChainVerdict {
        if leaf.isValid(at: time) {
            // An expired certificate must not hide a valid one of the same name.
            let timely = (intermediates.filter { $0.isValid(at: time) }, roots.filter { $0.isValid(at: time) })
            let verdict = verify(leaf, timely.0, timely.1, allowingSHA1: allowingSHA1)
            if case .accepted = verdict { return verdict }
        }
        // Only to say why: with all certificates, whatever their time.
        switch verify(leaf, intermediates, roots, allowingSHA1: allowingSHA1) {
        case .refused(let refusal): return .refused(refusal)
        case .accepted(let path): return .refused(ChainRefusal(untimely: path, at: time))
        }
    }

    /// libcrypto compares times too, but takes the last second of a period for expired.
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
        // 112 bits of security: no signature with SHA-1 and no RSA key below 2048 bits anywhere in the chain. The level that takes SHA-1
        // takes MD5 and any key too, so that there is none then, and the path is looked at below.
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
