package import AppStore

/// The two hosts of the simulated verifyReceipt.
package enum SimulatedReceiptHost: String, CaseIterable, Sendable {
    case production, sandbox

    /// The status that refers to the other host.
    package var statusForOther: VerifyReceiptStatus {
        switch self {
        case .production: .sandboxReceipt
        case .sandbox: .productionReceipt
        }
    }
}

extension SimulatedApp {
    /// The host that answers about this app's receipts.
    package var receiptHost: SimulatedReceiptHost { environment == .production ? .production : .sandbox }
}
