/// A decoded app receipt, a PKCS #7 SignedData (RFC 2315 §9, RFC 5652 §5); untrusted until verified.
///
/// It does not use libcrypto's `d2i_PKCS7` and `PKCS7_verify`. They choose the signer, the chain policy and the digests, decode every
/// certificate first, and read BER by other rules than the reader of the content. Here one bounded reader decodes envelope and content, and
/// libcrypto receives only single certificates, a chain and one RSA signature.
package struct SignedReceipt: Sendable {
    /// The signed bytes: the encoding of the ``AppReceipt``.
    package let content: [UInt8]
    /// The included certificates in DER, in order; none is trusted for being included.
    package let certificates: [[UInt8]]
    package let signer: Signer

    /// The signer and its signature.
    package struct Signer: Sendable {
        /// The serial number of the signer's certificate, as the content of the INTEGER.
        package let serialNumber: [UInt8]
        package let digest: Digest
        package let signature: [UInt8]
        /// The signed attributes; nil when the signature is over the content itself.
        package let signedAttributes: SignedAttributes?
    }

    /// Attributes that are signed instead of the content and contain its digest.
    package struct SignedAttributes: Sendable {
        /// The signed bytes: the attributes as a SET in DER (RFC 5652 §5.4).
        package let encoding: [UInt8]
        package let messageDigest: [UInt8]
    }

    /// The digests of receipt signatures: SHA-1 until 2023 (in older apps until 2025), then SHA-256.
    package enum Digest: String, Sendable, CaseIterable {
        case sha1 = "SHA-1"
        case sha256 = "SHA-256"
    }

    /// Why bytes are not a signed receipt.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package enum Code: String, CaseIterable, Sendable {
            /// Not the expected ASN.1; see `cause`.
            case encoding
            /// PKCS #7 of another type than SignedData.
            case notSignedData = "not_signed_data"
            /// The content is absent or of another type than data.
            case contentMissing = "content_missing"
            /// More than ``maximumCertificates`` certificates.
            case certificateCount = "certificate_count"
            /// No signer, or more than one.
            case signerCount = "signer_count"
            /// A digest that is neither SHA-1 nor SHA-256.
            case digest
            /// A signature that is not RSA with PKCS #1 v1.5, or that names another digest than the signer.
            case signatureAlgorithm = "signature_algorithm"
            /// Signed attributes without exactly one message digest, or for another type of content.
            case signedAttributes = "signed_attributes"
        }

        package let code: Code
        package let cause: ASN1Error?

        package init(_ code: Code, cause: ASN1Error? = nil) {
            self.code = code
            self.cause = cause
        }

        package var description: String { cause.map { "\($0)" } ?? "PKCS #7: \(code.rawValue)" }
    }
}
