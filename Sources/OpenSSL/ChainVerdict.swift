internal import COpenSSL

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

    init(problem: Problem, depth: Int, code: Int32) {
        self.problem = problem
        self.depth = depth
        self.code = code
    }

    /// For a path that is valid except for its time.
    init(outsideValidity path: [Certificate], at time: Int64) {
        let depth = path.firstIndex { !$0.isValid(at: time) } ?? 0
        let isEarly = time < path[depth].notBefore
        self.init(
            problem: isEarly ? .notYetValid : .expired,
            depth: depth,
            code: isEarly ? X509_V_ERR_CERT_NOT_YET_VALID : X509_V_ERR_CERT_HAS_EXPIRED
        )
    }

    init(_ context: OpaquePointer) {
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
