/// Why a JWS or receipt is invalid; the raw value is the code that is stored and shown.
package enum VerificationReason: String, CaseIterable, Sendable, CustomStringConvertible {
    /// Not three non-empty parts separated by dots.
    case malformedParts = "malformed_jws_parts"
    /// The payload is not canonical base64url.
    case payloadNotBase64URL = "payload_not_base64url"
    /// The signature is not canonical base64url.
    case signatureNotBase64URL = "signature_not_base64url"
    /// The header is not canonical base64url.
    case headerNotBase64URL = "header_not_base64url"
    /// The header is not a JSON object.
    case headerNotJSON = "header_not_json"
    /// `crit`, `b64` or `zip` is present, which changes the meaning of the signature.
    case headerNotSupported = "header_not_supported"
    /// `alg` is absent or not a string.
    case algorithmMissing = "algorithm_missing"
    /// `alg` is not `ES256`.
    case algorithmNotES256 = "algorithm_not_es256"
    /// `x5c` is absent or not an array of strings.
    case x5cMissing = "x5c_missing"
    /// An entry of `x5c` is not canonical base64.
    case x5cNotBase64 = "x5c_not_base64"
    /// `x5c` does not have exactly three entries.
    case x5cCount = "x5c_count"
    /// An entry of `x5c`, or the certificate of a receipt's signer, is not a certificate in DER, or is larger than the limit.
    case certificateMalformed = "certificate_malformed"
    /// Bytes follow a certificate's DER.
    case certificateTrailingBytes = "certificate_trailing_bytes"
    /// A certificate's key is not on P-256 or P-384 by name, nor RSA of at most 4096 bits; libcrypto does not see it.
    case certificateKeyUnsupported = "certificate_key_unsupported"

    /// The receipt is empty.
    case receiptEmpty = "receipt_empty"
    /// More than ``ReceiptVerifier/maximumByteCount`` bytes.
    case receiptTooLarge = "receipt_too_large"
    /// Neither ASN.1 nor base64.
    case receiptNotBase64 = "receipt_not_base64"
    /// An iOS 6 style transaction receipt, which only Apple's verifyReceipt can verify.
    case transactionReceipt = "transaction_receipt"
    /// Base64 of bytes that are not ASN.1.
    case notAReceipt = "not_a_receipt"
    /// Not the ASN.1 of a PKCS #7 SignedData; the detail names the place.
    case receiptMalformed = "receipt_malformed"
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
    /// None of the receipt's certificates has the signer's serial number.
    case signerCertificateMissing = "signer_certificate_missing"
    /// The receipt's content is not a set of attributes; without a creation date the chain cannot be validated.
    case contentNotAttributes = "content_not_attributes"
    /// The receipt has no creation date.
    case creationDateMissing = "creation_date_missing"

    /// The payload is not a JSON object; without a signedDate the chain cannot be validated.
    case payloadNotJSON = "payload_not_json"
    /// The signedDate (of an app transaction, receiptCreationDate) is absent or not a date.
    case signedDateMissing = "signed_date_missing"
    /// No configured root issued the intermediate, or a receipt has no intermediate.
    case untrustedRoot = "untrusted_root"
    /// The intermediate did not issue the leaf, or the leaf is not two steps below a root.
    case chainBroken = "chain_broken"
    /// A certificate's signature was not made by its issuer.
    case certificateSignatureInvalid = "certificate_signature_invalid"
    /// A certificate had expired at the signing date.
    case certificateExpired = "certificate_expired"
    /// A certificate was not yet valid at the signing date.
    case certificateNotYetValid = "certificate_not_yet_valid"
    /// The root's path length allows no intermediate.
    case pathTooLong = "path_too_long"
    /// A certificate has an unknown critical extension.
    case unknownCriticalExtension = "unknown_critical_extension"
    /// A key or digest is too weak.
    case certificateTooWeak = "certificate_too_weak"
    /// libcrypto refuses the chain for another reason, given in the detail.
    case certificateRefused = "certificate_refused"
    /// The intermediate is not a certificate authority.
    case intermediateNotCA = "intermediate_not_ca"
    /// The intermediate's key may not sign certificates.
    case intermediateKeyUsage = "intermediate_key_usage"
    /// The intermediate lacks Apple's marker for this purpose, 1.2.840.113635.100.6.2.1.
    case intermediateMarkerMissing = "intermediate_marker_missing"
    /// The leaf is a certificate authority.
    case leafIsCA = "leaf_is_ca"
    /// The leaf's key may not sign.
    case leafKeyUsage = "leaf_key_usage"
    /// The leaf's key is not on P-256.
    case leafKeyNotP256 = "leaf_key_not_p256"
    /// The leaf's key is not RSA, as a receipt's must be.
    case leafKeyNotRSA = "leaf_key_not_rsa"
    /// The leaf lacks the marker for signing App Store payloads, 1.2.840.113635.100.6.11.1.
    case leafMarkerMissing = "leaf_marker_missing"

    /// The signature is not two integers of 32 bytes in the range of the curve.
    case signatureMalformed = "signature_malformed"
    /// A receipt's signed attributes contain the digest of other content.
    case messageDigestMismatch = "message_digest_mismatch"
    /// The leaf's key did not sign these bytes.
    case signatureInvalid = "signature_invalid"
    /// Genuine, but another kind of payload than expected.
    case wrongKind = "wrong_kind"
    /// Genuine, but a member that is needed is of another type than this version reads; the detail names it.
    case unreadableMember = "unreadable_member"
    /// A genuine receipt, but an essential attribute is unreadable; the detail names it.
    case contentMalformed = "content_malformed"
    /// A notification or receipt without an environment.
    case environmentMissing = "environment_missing"
    /// Xcode or LocalTesting, which sign with the developer's key.
    case environmentNotSupported = "environment_not_supported"
    /// Parts of one notification name different environments.
    case environmentDisagreement = "environment_disagreement"
    /// The root is not trusted for this environment.
    case environmentNotTrustedByRoot = "environment_not_trusted_by_root"
    /// An environment that is not configured.
    case wrongEnvironment = "wrong_environment"
    /// A receipt without a bundle identifier; also any payload but a renewal info, while apps are configured.
    case bundleMissing = "bundle_missing"
    /// Parts of one notification name different bundles.
    case bundleDisagreement = "bundle_disagreement"
    /// An app that is not configured.
    case wrongBundle = "wrong_bundle"
    /// The configured bundle with another number in the App Store (`appAppleId`), in Production.
    case wrongAppAppleID = "wrong_app_apple_id"
    /// Transaction and renewal info of one notification belong to different contracts.
    case originalTransactionIDDisagreement = "original_transaction_id_disagreement"
    /// The signing date lies after the time of receipt: retryable.
    case signedInTheFuture = "signed_in_the_future"
    /// The leaf or the intermediate was revoked before the signing date, or its key may have been stolen.
    case certificateRevoked = "certificate_revoked"

    package var description: String { rawValue }
}
