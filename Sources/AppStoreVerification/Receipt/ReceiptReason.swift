/// Why an app receipt is invalid; the raw value is the code that is stored and shown.
///
/// The cases are roughly in the order of the checks. Reasons that also apply to a JWS have the same code as in ``VerificationReason``.
package enum ReceiptReason: String, CaseIterable, Sendable, CustomStringConvertible {
    /// The input is empty.
    case empty = "receipt_empty"
    /// More than ``ReceiptVerifier/maximumByteCount`` bytes.
    case tooLarge = "receipt_too_large"
    /// Neither ASN.1 nor base64.
    case notBase64 = "receipt_not_base64"
    /// An iOS 6 style transaction receipt, which only Apple's verifyReceipt can verify.
    case transactionReceipt = "transaction_receipt"
    /// Base64 of bytes that are not ASN.1.
    case notAReceipt = "not_a_receipt"
    /// Not the ASN.1 of a PKCS #7 SignedData; the detail names the place.
    case malformed = "receipt_malformed"
    /// PKCS #7 of another type than SignedData.
    case notSignedData = "not_signed_data"
    /// SignedData without content, or with content of another type than data.
    case contentMissing = "content_missing"
    /// More certificates than the limit.
    case certificateCount = "certificate_count"
    /// No signer, or more than one.
    case signerCount = "signer_count"
    /// A digest that is neither SHA-1 nor SHA-256.
    case digestNotSupported = "digest_not_supported"
    /// A signature that is not RSA with PKCS #1 v1.5, or that names another digest than the signer.
    case signatureAlgorithmNotSupported = "signature_algorithm_not_supported"
    /// Signed attributes without exactly one message digest, or for another type of content.
    case signedAttributesMalformed = "signed_attributes_malformed"
    /// None of the certificates has the signer's serial number.
    case signerCertificateMissing = "signer_certificate_missing"
    /// The signer's certificate is unreadable.
    case certificateMalformed = "certificate_malformed"

    /// The content is not a set of attributes; without a creation date the chain cannot be validated.
    case contentNotAttributes = "content_not_attributes"
    /// The receipt has no creation date.
    case creationDateMissing = "creation_date_missing"
    /// No configured root issued the intermediate, or the intermediate is absent.
    case untrustedRoot = "untrusted_root"
    /// The signer's certificate is not two steps below a root.
    case chainBroken = "chain_broken"
    /// A certificate's signature was not made by its issuer.
    case certificateSignatureInvalid = "certificate_signature_invalid"
    /// A certificate had expired when the receipt was created.
    case certificateExpired = "certificate_expired"
    /// A certificate was not yet valid when the receipt was created.
    case certificateNotYetValid = "certificate_not_yet_valid"
    /// The root's path length allows no intermediate.
    case pathTooLong = "path_too_long"
    /// A certificate has an unknown critical extension.
    case unknownCriticalExtension = "unknown_critical_extension"
    /// A key below 2048 bits, or a digest weaker than SHA-1.
    case certificateTooWeak = "certificate_too_weak"
    /// libcrypto refuses the chain for another reason, given in the detail.
    case certificateRefused = "certificate_refused"
    /// The intermediate is not a certificate authority.
    case intermediateNotCA = "intermediate_not_ca"
    /// The intermediate's key may not sign certificates.
    case intermediateKeyUsage = "intermediate_key_usage"
    /// The intermediate lacks the marker of Apple Worldwide Developer Relations, 1.2.840.113635.100.6.2.1.
    case intermediateMarkerMissing = "intermediate_marker_missing"
    /// The leaf is a certificate authority.
    case leafIsCA = "leaf_is_ca"
    /// The leaf's key may not sign.
    case leafKeyUsage = "leaf_key_usage"
    /// The leaf's key is not RSA.
    case leafKeyNotRSA = "leaf_key_not_rsa"
    /// The leaf lacks the marker for signing receipts, 1.2.840.113635.100.6.11.1.
    case leafMarkerMissing = "leaf_marker_missing"

    /// The signed attributes contain the digest of other content.
    case messageDigestMismatch = "message_digest_mismatch"
    /// The leaf's key did not sign these bytes.
    case signatureInvalid = "signature_invalid"
    /// Genuine, but an essential attribute is unreadable; the detail names it.
    case contentMalformed = "content_malformed"
    /// Genuine, but without a receipt type.
    case environmentMissing = "environment_missing"
    /// An Xcode receipt, signed with the developer's key.
    case environmentNotSupported = "environment_not_supported"
    /// The root is not trusted for this environment.
    case environmentNotTrustedByRoot = "environment_not_trusted_by_root"
    /// An environment that is not configured.
    case wrongEnvironment = "wrong_environment"
    /// No bundle identifier.
    case bundleMissing = "bundle_missing"
    /// An app that is not configured.
    case wrongBundle = "wrong_bundle"
    /// The configured bundle with another number in the App Store, in Production.
    case wrongAppAppleID = "wrong_app_apple_id"
    /// The creation date lies after the time of receipt: retryable.
    case signedInTheFuture = "signed_in_the_future"

    package var description: String { rawValue }
}
