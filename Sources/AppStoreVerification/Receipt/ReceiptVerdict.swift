package import AppStore

/// What verification says about an app receipt: a value, never a thrown error.
package enum ReceiptVerdict: Sendable {
    /// Genuine, and of a configured app and environment.
    case valid(VerifiedReceipt)
    /// To be refused.
    case invalid(ReceiptRejection)
}

/// An app receipt whose signature was verified.
package struct VerifiedReceipt: Sendable {
    package let receipt: AppReceipt
    package let environment: AppStoreEnvironment
    package let bundleID: String
    /// When Apple made the receipt: the version of everything in it.
    package let creationDate: Timestamp
    /// SHA-256 of the signed content: the same for every signature over it, and in whatever encoding it came.
    package let contentHash: [UInt8]
    /// The digest of Apple's signature, which tells the generation.
    package let digest: SignedReceipt.Digest
}

/// Why a receipt is refused.
package struct ReceiptRejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// The first check that failed.
    package let reason: ReceiptReason
    /// More about it for a person, such as an offset in bytes; never a value from the receipt.
    package let detail: String?
    /// The receipt that was refused, only when its signature was genuine: what an operator wants to see of a wrong app.
    package let receipt: AppReceipt?

    init(_ reason: ReceiptReason, _ detail: String? = nil, receipt: AppReceipt? = nil) {
        self.reason = reason
        self.detail = detail
        self.receipt = receipt
    }

    /// Whether the same bytes may be valid later: only when they were made in what is the future by our clock.
    package var isRetryable: Bool { reason == .signedInTheFuture }

    package var description: String { "receipt: \(reason)\(detail.map { " (\($0))" } ?? "")" }
}
