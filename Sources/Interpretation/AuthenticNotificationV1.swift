package import AppStore
package import AppStoreVerification
package import FoundationEssentials
import Ledger

/// A notification V1 of a configured app. A shared secret vouches for its body, and Apple's signature for the receipt in it.
package struct AuthenticNotificationV1: Sendable {
    package let body: ResponseBodyV1
    package let receipt: EnclosedReceipt
    package let environment: AppStoreEnvironment
    package let bundleID: String
    /// When the renewal status changed; nil when the body has no such date, or one in the future.
    let changeDate: Timestamp?
    /// Replaces the notificationUUID, which V1 does not have. Derived from the digest of the content: each delivery has the same.
    package let uuid: UUID

    /// Why a notification is refused; the raw value is the code that is stored and shown.
    package enum Refusal: String, Error, CaseIterable, Sendable {
        /// Neither the body nor the receipt names an environment.
        case environmentMissing = "environment_missing"
        /// The environment is not configured.
        case wrongEnvironment = "wrong_environment"
        /// Receipt and body name different environments.
        case environmentMismatch = "environment_mismatch"
        /// Neither the part of the body that decides which secret applies nor the receipt names an app.
        case bundleMissing = "bundle_missing"
        /// The app is not configured.
        case wrongBundle = "wrong_bundle"
        /// Receipt and body name different apps.
        case bundleMismatch = "bundle_mismatch"
    }

    /// - Parameters:
    ///   - digest: of the body's content, in hexadecimal digits.
    ///   - receivedAt: dates after this, plus the clock tolerance, are ignored.
    ///   - policy: which apps and environments are configured.
    package init(_ body: ResponseBodyV1, receipt: EnclosedReceipt, digest: String, receivedAt: Timestamp, policy: VerificationPolicy)
        throws(Refusal)
    {
        guard let environment = body.environment ?? receipt.environment else { throw .environmentMissing }
        guard policy.environments?.contains(environment) ?? true else { throw .wrongEnvironment }
        guard receipt.environment.map({ $0 == environment }) ?? true else { throw .environmentMismatch }
        guard let bundleID = body.vouchedBundleID ?? receipt.bundleID else { throw .bundleMissing }
        guard policy.accepts(bundleID: bundleID) else { throw .wrongBundle }
        guard receipt.bundleID.map({ $0 == bundleID }) ?? true else { throw .bundleMismatch }
        self.body = body
        self.receipt = receipt
        self.environment = environment
        self.bundleID = bundleID
        let latest = receivedAt.advanced(by: policy.clockTolerance)
        changeDate = body.autoRenewStatusChangeDate.flatMap { $0 <= latest ? $0 : nil }
        uuid = UUID(notification: "v1:\(digest)")
    }
}

extension VerificationPolicy {
    /// Whether the app is configured.
    func accepts(bundleID: String) -> Bool { apps?.contains { $0.bundleID == bundleID } ?? true }
}

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
    fileprivate var environment: AppStoreEnvironment? {
        switch self {
        case .verified(let receipt): receipt.environment
        case .refused(let rejection): rejection.receipt?.environment
        case .absent: nil
        }
    }

    fileprivate var bundleID: String? {
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
