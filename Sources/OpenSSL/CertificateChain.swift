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

/// The answer of ``CertificateChain``.
package enum ChainVerdict: Sendable {
    /// The certificates from the leaf to the anchor, both included.
    case accepted(path: [Certificate])
    /// No path to an anchor is valid.
    case refused(ChainRefusal)
}

/// Why a chain was refused.
package struct ChainRefusal: Hashable, Sendable, CustomStringConvertible {
    /// The kinds of problems that a caller may want to distinguish.
    package enum Problem: Sendable {
        /// Neither an anchor nor an intermediate issued the certificate at `depth`.
        case issuerNotFound
        /// A signature on a certificate is not its issuer's.
        case signatureInvalid
        /// `notAfter` has passed.
        case expired
        /// `notBefore` is still to come.
        case notYetValid
        /// An issuer is not a certificate authority, or its key usage excludes signing certificates.
        case issuerNotCA
        /// More authorities follow than an issuer's path length allows.
        case pathTooLong
        /// An extension is critical and unknown.
        case unknownCriticalExtension
        /// A key or digest has less than 112 bits of security.
        case tooWeak
        /// Any other problem; see `description`.
        case other
    }

    package var problem: Problem
    /// The position of the certificate with the problem; 0 is the leaf.
    package var depth: Int
    /// libcrypto's own number, `X509_V_ERR_…`.
    package var code: Int32

    /// libcrypto's text for the code: a constant without data of the certificates.
    package var description: String { String(cString: X509_verify_cert_error_string(Int(code))) }

    fileprivate init(problem: Problem, depth: Int, code: Int32) {
        self.problem = problem
        self.depth = depth
        self.code = code
    }

    /// For a path that is valid except for its time.
    fileprivate init(outsideValidity path: [Certificate], at time: Int64) {
        let depth = path.firstIndex { !$0.isValid(at: time) } ?? 0
        let isEarly = time < path[depth].notBefore
        self.init(
            problem: isEarly ? .notYetValid : .expired,
            depth: depth,
            code: isEarly ? X509_V_ERR_CERT_NOT_YET_VALID : X509_V_ERR_CERT_HAS_EXPIRED
        )
    }

    fileprivate init(_ context: OpaquePointer) {
        let code = X509_STORE_CTX_get_error(context)
        self.init(problem: Problem(code), depth: Int(X509_STORE_CTX_get_error_depth(context)), code: code)
    }
}

extension ChainRefusal.Problem {
    fileprivate init(_ code: Int32) {
        self =
            switch code {
            case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
                X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
                X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
                .issuerNotFound
            case X509_V_ERR_CERT_SIGNATURE_FAILURE: .signatureInvalid
            case X509_V_ERR_CERT_HAS_EXPIRED: .expired
            case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
            case X509_V_ERR_INVALID_CA, X509_V_ERR_KEYUSAGE_NO_CERTSIGN: .issuerNotCA
            case X509_V_ERR_PATH_LENGTH_EXCEEDED: .pathTooLong
            case X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION: .unknownCriticalExtension
            case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK: .tooWeak
            default: .other
            }
    }
}

extension ChainRefusal {
    /// The first weakness in a path from leaf to anchor, SHA-1 apart: a key, or a digest of a signature, below 112 bits of security.
    ///
    /// The anchor's own signature proves nothing and is not checked.
    fileprivate init?(weaknessIn path: [Certificate]) {
        for (depth, certificate) in path.enumerated() {
            guard let key = certificate.publicKey, EVP_PKEY_get_security_bits(key.handle) >= 112 else {
                self.init(problem: .tooWeak, depth: depth, code: depth == 0 ? X509_V_ERR_EE_KEY_TOO_SMALL : X509_V_ERR_CA_KEY_TOO_SMALL)
                return
            }
            guard depth == path.count - 1 || certificate.isSignedStronglyOrWithSHA1 else {
                self.init(problem: .tooWeak, depth: depth, code: X509_V_ERR_CA_MD_TOO_WEAK)
                return
            }
        }
        return nil
    }
}

extension Certificate {
    fileprivate var isSignedStronglyOrWithSHA1: Bool {
        var digest: Int32 = 0
        var strength: Int32 = 0
        guard X509_get_signature_info(handle, &digest, nil, &strength, nil) == 1 else { return false }
        return strength >= 112 || digest == NID_sha1
    }
}
