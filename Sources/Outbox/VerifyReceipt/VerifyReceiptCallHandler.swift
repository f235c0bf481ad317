import AppStore

/// Asks Apple's verifyReceipt about receipts in the inbox.
package struct VerifyReceiptCallHandler: CallHandler {
    /// The kind of such calls, and the source of their answers in the inbox.
    package static let kind = EventSource.verifyReceipt.rawValue

    package var kind: String { Self.kind }
    package let slots: Int
    package let bundleIDs: Set<String>
    private let addresses: VerifyReceiptAddresses
    private let secrets: @Sendable (_ bundleID: String) -> [String]
    private let receiptData: @Sendable (LeasedCall.Event) -> String?

    /// - Parameters:
    ///   - slots: the most attempts at once, at least 1.
    ///   - bundleIDs: the apps that have a shared secret.
    ///   - secrets: the shared secrets of an app, in the order in which they are tried.
    ///   - receiptData: the receipt in base64 in the call's event; nil when there is none.
    package init(
        slots: Int = 4,
        bundleIDs: Set<String>,
        addresses: VerifyReceiptAddresses = VerifyReceiptAddresses(),
        secrets: @escaping @Sendable (_ bundleID: String) -> [String],
        receiptData: @escaping @Sendable (LeasedCall.Event) -> String?
    ) {
        self.slots = slots
        self.bundleIDs = bundleIDs
        self.addresses = addresses
        self.secrets = secrets
        self.receiptData = receiptData
    }

    package func attempt(_ call: LeasedCall) -> any CallAttempt {
        VerifyReceiptAttempt(
            receiptData: call.event.flatMap(receiptData),
            secrets: secrets(call.bundleID),
            addresses: addresses
        )
    }
}
