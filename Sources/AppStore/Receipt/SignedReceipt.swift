/// A PKCS #7 SignedData (RFC 2315 §9, RFC 5652 §5) taken apart, as app receipts are one; nothing vouches for any of it.
///
/// Why not libcrypto's `d2i_PKCS7` and `PKCS7_verify`: they pick the signer, the chain's policy and the digests by themselves, decode all
/// certificates of the bag before anything is known of them, and take BER by other rules than the reader of the content does. Here one
/// small reader with limits of its own reads the envelope and the content, with offsets in its errors, and libcrypto only gets single
/// certificates, a chain to judge, and one RSA signature.
package struct SignedReceipt: Sendable {
    /// The bytes that are signed: the receipt's own encoding.
    package let content: [UInt8]
    /// The certificates that came with it, in DER and in their order; the signer's is one of them. Nothing is trusted for being here.
    package let certificates: [[UInt8]]
    /// The one who signed.
    package let signer: Signer

    /// How the content is signed, and by whom.
    package struct Signer: Sendable {
        /// The content of the INTEGER in the signer's certificate.
        package let serialNumber: [UInt8]
        package let digest: Digest
        package let signature: [UInt8]
        /// What the signature is over when it is not the content itself.
        package let signedAttributes: SignedAttributes?
    }

    /// Attributes that are signed instead of the content, of which they hold the digest.
    package struct SignedAttributes: Sendable {
        /// The bytes that are signed: the attributes as a SET in DER (RFC 5652 §5.4).
        package let encoding: [UInt8]
        package let messageDigest: [UInt8]
    }

    /// The digests that receipts are signed with: SHA-1 until 2023, in older apps until 2025, SHA-256 since.
    package enum Digest: String, Sendable, CaseIterable {
        case sha1 = "SHA-1"
        case sha256 = "SHA-256"
    }

    /// Why bytes are no signed receipt.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package enum Code: String, CaseIterable, Sendable {
            /// Not the ASN.1 that it should be; `cause` tells why and where.
            case encoding
            /// Another kind of PKCS #7.
            case notSignedData = "not_signed_data"
            /// Nothing, or something else than data, is inside.
            case contentMissing = "content_missing"
            /// More certificates than any receipt has.
            case certificateCount = "certificate_count"
            /// No signature, or more than one.
            case signerCount = "signer_count"
            /// A digest that is neither SHA-1 nor SHA-256.
            case digest
            /// A signature that is not RSA with PKCS #1 v1.5, or with another digest than the one that is named beside it.
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
