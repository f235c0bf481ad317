import AppStore

/// The two hosts of verifyReceipt; the raw value is the name in settings and logs.
package enum VerifyReceiptHost: String, CaseIterable, Sendable {
    case production, sandbox

    /// The environment whose receipts it accepts.
    var environment: AppStoreEnvironment {
        switch self {
        case .production: .production
        case .sandbox: .sandbox
        }
    }
}

/// The addresses of verifyReceipt.
package struct VerifyReceiptAddresses: Hashable, Sendable {
    package var production = "https://buy.itunes.apple.com/verifyReceipt"
    package var sandbox = "https://sandbox.itunes.apple.com/verifyReceipt"

    package init() {}

    func url(of host: VerifyReceiptHost) -> String {
        switch host {
        case .production: production
        case .sandbox: sandbox
        }
    }
}
