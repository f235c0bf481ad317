/// One way in which an app receipt can be invalid; the raw value is the code that is stored and shown.
///
/// The cases stand about in the order of the checks. Where a JWS can be invalid in the same way, the code is the same as
/// ``VerificationReason``'s.
package enum ReceiptReason: String, CaseIterable, Sendable, CustomStringConvertible {
    /// Nothing at all.
    case empty = "receipt_empty"
    /// More bytes than any receipt has.
    case tooLarge = "receipt_too_large"
    /// Neither ASN.1 nor base64.
    case notBase64 = "receipt_not_base64"
    /// An iOS 6 style transaction receipt: nothing in it says how to verify it, so that only Apple's verifyReceipt can.
    case transactionReceipt = "transaction_receipt"
    /// Base64 of something that is no ASN.1.
    case notAReceipt = "not_a_receipt"
    /// Not the ASN.1 of a PKCS #7 SignedData; the detail says where.
    case malformed = "receipt_malformed"
    /// PKCS #7 of another kind than SignedData.
    case notSignedData = "not_signed_data"
    /// SignedData without content, or with another one than data.
    case contentMissing = "content_missing"
    /// More certificates than any receipt has.
    case certificateCount = "certificate_count"
    /// No signer, or more than one.
    case signerCount = "signer_count"
    /// A digest that is neither SHA-1 nor SHA-256.
    case digestNotSupported = "digest_not_supported"
    /// A signature that is not RSA by PKCS #1 v1.5, or over another digest than the one that is named.
    case signatureAlgorithmNotSupported = "signature_algorithm_not_supported"
    /// Signed attributes without exactly one message digest, or for another type of content.
    case signedAttributesMalformed = "signed_attributes_malformed"
    /// None of the certificates has the signer's serial number.
    case signerCertificateMissing = "signer_certificate_missing"
    /// The signer's certificate cannot be read.
    case certificateMalformed = "certificate_malformed"

    /// The content is no set of attributes, so that there is no date to verify at: nothing vouches for it.
    case contentNotAttributes = "content_not_attributes"
    /// The receipt does not say when it was made.
    case creationDateMissing = "creation_date_missing"
    /// No configured root issued the intermediate, or there is none.
    case untrustedRoot = "untrusted_root"
    /// The signer's certificate is not two steps below a root.
    case chainBroken = "chain_broken"
    /// A certificate's signature is not its issuer's.
    case certificateSignatureInvalid = "certificate_signature_invalid"
    /// A certificate had expired when the receipt was made.
    case certificateExpired = "certificate_expired"
    /// A certificate was not yet valid when the receipt was made.
    case certificateNotYetValid = "certificate_not_yet_valid"
    /// The root allows no authority below it.
    case pathTooLong = "path_too_long"
    /// An extension is critical and unknown.
    case unknownCriticalExtension = "unknown_critical_extension"
    /// A key below 2048 bits, or a digest weaker than SHA-1.
    case certificateTooWeak = "certificate_too_weak"
    /// libcrypto refuses the chain for a reason of its own, told in the detail.
    case certificateRefused = "certificate_refused"
    /// The intermediate is no certificate authority.
    case intermediateNotCA = "intermediate_not_ca"
    /// The intermediate's key may not sign certificates.
    case intermediateKeyUsage = "intermediate_key_usage"
    /// The intermediate is not of Apple's Worldwide Developer Relations: 1.2.840.113635.100.6.2.1 is missing.
    case intermediateMarkerMissing = "intermediate_marker_missing"
    /// The leaf is a certificate authority.
    case leafIsCA = "leaf_is_ca"
    /// The leaf's key may not sign.
    case leafKeyUsage = "leaf_key_usage"
    /// The leaf's key is not RSA's.
    case leafKeyNotRSA = "leaf_key_not_rsa"
    /// The leaf does not sign receipts: 1.2.840.113635.100.6.11.1 is missing.
    case leafMarkerMissing = "leaf_marker_missing"

    /// The signed attributes are about other content.
    case messageDigestMismatch = "message_digest_mismatch"
    /// The leaf's key did not sign these bytes.
    case signatureInvalid = "signature_invalid"
    /// Genuine, but an attribute that matters cannot be read; the detail names it.
    case contentMalformed = "content_malformed"
    /// Genuine, but without a receipt type.
    case environmentMissing = "environment_missing"
    /// Xcode signs receipts with a key of the developer's own.
    case environmentNotSupported = "environment_not_supported"
    /// The root may not vouch for this environment.
    case environmentNotTrustedByRoot = "environment_not_trusted_by_root"
    /// An environment that is not configured.
    case wrongEnvironment = "wrong_environment"
    /// No bundle identifier.
    case bundleMissing = "bundle_missing"
    /// An app that is not configured.
    case wrongBundle = "wrong_bundle"
    /// The configured bundle with another number in the App Store, in Production.
    case wrongAppAppleID = "wrong_app_apple_id"
    /// Made later than our clock says it was received: retryable.
    case signedInTheFuture = "signed_in_the_future"

    package var description: String { rawValue }
}
