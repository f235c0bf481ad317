import AppStore
package import AppStoreVerification

/// The receipt in a notification V1.
package enum EnclosedReceipt: Sendable {
    case verified(VerifiedReceipt)
    case refused(Rejection)
    case absent

    /// The receipt, when it is genuine and of a configured app.
    package var verified: VerifiedReceipt? {
        guard case .verified(let receipt) = self else { return nil }
        return receipt
    }

    /// Why the receipt cannot be read; nil when it can.
    package var problem: String? {
        switch self {
        case .verified: nil
        case .refused(let rejection): "receipt:\(rejection.reason.rawValue)"
        case .absent: "receipt:missing"
        }
    }

    /// The environment that a genuine receipt names, also when the receipt belongs to another app.
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

    /// Whether Apple may accept the receipt although it was refused here: it has the form of a receipt, and is not known as another app's.
    var mayBeValidForApple: Bool {
        guard case .refused(let rejection) = self, rejection.receipt == nil else { return false }
        return ![.receiptEmpty, .receiptTooLarge, .receiptNotBase64, .notAReceipt].contains(rejection.reason)
    }
}
