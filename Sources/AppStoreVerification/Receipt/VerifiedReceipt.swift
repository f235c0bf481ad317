package import AppStore

/// An app receipt whose signature was verified.
package struct VerifiedReceipt: Sendable {
    package let receipt: AppReceipt
    package let environment: AppStoreEnvironment
    package let bundleID: String
    /// When Apple created the receipt; it versions everything in it.
    package let creationDate: Timestamp
    /// SHA-256 of the signed content, independent of the signature and of the encoding.
    package let contentHash: [UInt8]
    /// The digest of Apple's signature.
    package let digest: SignedReceipt.Digest
}
