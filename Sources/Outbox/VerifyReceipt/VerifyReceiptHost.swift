import AppStore

/// The two hosts of verifyReceipt; the raw value is what a setting and a log call it.
package enum VerifyReceiptHost: String, CaseIterable, Sendable {
    case production, sandbox

    /// What it answers about.
    var environment: AppStoreEnvironment {
        switch self {
        case .production: .production
        case .sandbox: .sandbox
        }
    }
}

/// Where verifyReceipt is.
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
