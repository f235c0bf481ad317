package import AppStore

/// The result of verifying an app receipt: a value, never a thrown error.
package enum ReceiptVerdict: Sendable {
    /// Genuine, with a configured app and environment.
    case valid(VerifiedReceipt)
    case invalid(ReceiptRejection)
}

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

/// Why a receipt is refused.
package struct ReceiptRejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// The first check that failed.
    package let reason: ReceiptReason
    /// Details for an operator, such as a byte offset; never a value from the receipt.
    package let detail: String?
    /// The refused receipt if its signature is genuine, so that an operator can see its app.
    package let receipt: AppReceipt?

    init(_ reason: ReceiptReason, _ detail: String? = nil, receipt: AppReceipt? = nil) {
        self.reason = reason
        self.detail = detail
        self.receipt = receipt
    }

    /// Whether the same bytes may be valid later: only for a creation date in the future.
    package var isRetryable: Bool { reason == .signedInTheFuture }

    package var description: String { "receipt: \(reason)\(detail.map { " (\($0))" } ?? "")" }
}
