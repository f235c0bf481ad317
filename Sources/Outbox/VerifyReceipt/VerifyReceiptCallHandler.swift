import AppStore
package import AppStoreVerification

/// Asks Apple's verifyReceipt about receipts in the inbox.
package struct VerifyReceiptCallHandler: PlainCallHandler {
    /// The kind of such calls, and the source of their answers in the inbox.
    package static let kind = EventSource.verifyReceipt.rawValue

    package var kinds: [String] { [Self.kind] }
    package let slots: Int
    /// The apps that have a shared secret. Production is asked first about every receipt.
    package var lanes: Set<CallLane> { Set(secrets().counts.keys.map { CallLane($0, .production) }) }
    private let addresses: VerifyReceiptAddresses
    private let secrets: @Sendable () -> SharedSecrets
    private let receiptData: @Sendable (LeasedCall.Event) -> String?

    /// - Parameters:
    ///   - slots: the most attempts at once, at least 1.
    ///   - secrets: the shared secrets, asked for at each attempt. Those of an app are tried in their order.
    ///   - receiptData: the receipt in base64 in the call's event; nil when there is none.
    package init(
        slots: Int = 4,
        addresses: VerifyReceiptAddresses = VerifyReceiptAddresses(),
        secrets: @escaping @Sendable () -> SharedSecrets,
        receiptData: @escaping @Sendable (LeasedCall.Event) -> String?
    ) {
        self.slots = slots
        self.addresses = addresses
        self.secrets = secrets
        self.receiptData = receiptData
    }

    package func attempt(_ call: LeasedCall) -> any CallAttempt {
        VerifyReceiptAttempt(
            receiptData: call.event.flatMap(receiptData),
            secrets: secrets().secrets(of: call.bundleID),
            addresses: addresses
        )
    }
}
