import AppStore
package import AppStoreVerification

/// The receipt in a notification V1.
package enum EnclosedReceipt: Sendable {
    case verified(VerifiedReceipt)
    case refused(ReceiptRejection)
    case absent

    /// The receipt, when it is genuine and of a configured app.
    package var verified: VerifiedReceipt? {
        guard case .verified(let receipt) = self else { return nil }
        return receipt
    }

    /// Why nothing can be read from it; nil when it can.
    package var problem: String? {
        switch self {
        case .verified: nil
        case .refused(let rejection): "receipt:\(rejection.reason.rawValue)"
        case .absent: "receipt:missing"
        }
    }

    /// What a genuine receipt says of itself, though it may be of another app.
    var environment: AppStoreEnvironment? {
        switch self {
        case .verified(let receipt): receipt.environment
        case .refused(let rejection): rejection.receipt?.environment
        case .absent: nil
        }
    }

    var bundleID: String? {
        switch self {
        case .verified(let receipt): receipt.bundleID
        case .refused(let rejection): rejection.receipt?.bundleID
        case .absent: nil
        }
    }

    /// Whether Apple may know more of it than its signature tells us: it is a receipt by its form, and not one that we know as another app's.
    var isWorthAsking: Bool {
        guard case .refused(let rejection) = self, rejection.receipt == nil else { return false }
        return ![.empty, .tooLarge, .notBase64, .notAReceipt].contains(rejection.reason)
    }
}
