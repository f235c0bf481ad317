internal import COpenSSL

extension ChainRefusal {
    /// The first weakness in a path from leaf to anchor, SHA-1 apart: a key, or a digest of a signature, below 112 bits of security.
    ///
    /// The anchor's own signature proves nothing and is not checked.
    init?(weaknessIn path: [Certificate]) {
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
