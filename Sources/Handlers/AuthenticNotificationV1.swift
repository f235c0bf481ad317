package import AppStore
package import AppStoreVerification
package import FoundationEssentials
import Ledger

/// A notification V1 of a configured app. A shared secret vouches for its body, and Apple's signature for the receipt in it.
package struct AuthenticNotificationV1: Sendable {
    /// The source of such events in the inbox; that it is theirs says that the secret was right.
    package static let source = "notification_v1"

    package let body: ResponseBodyV1
    package let receipt: EnclosedReceipt
    package let environment: AppStoreEnvironment
    package let bundleID: String
    /// When the change of renewal that it tells of happened; nil when it tells of none, or says a time that has not come.
    let changeDate: Timestamp?
    /// Stands for the notificationUUID that V1 does not have: made of the digest of its content, so the same for each delivery of it.
    package let uuid: UUID

    /// Why a notification is nobody's of ours; the raw value is the code that is stored and shown.
    package enum Refusal: String, Error, CaseIterable, Sendable {
        /// Neither the body nor the receipt names an environment.
        case environmentMissing = "environment_missing"
        /// An environment that is not configured.
        case wrongEnvironment = "wrong_environment"
        /// The receipt is of another environment than the body.
        case environmentMismatch = "environment_mismatch"
        /// Neither the body, where its secret is judged by it, nor the receipt names an app.
        case bundleMissing = "bundle_missing"
        /// An app that is not configured.
        case wrongBundle = "wrong_bundle"
        /// The receipt is of another app than the body.
        case bundleMismatch = "bundle_mismatch"
    }

    /// - Parameters:
    ///   - digest: of the body's content, in hexadecimal digits.
    ///   - receivedAt: what is dated later than this, but for the difference of clocks, is not believed.
    ///   - policy: which apps and environments are configured.
    package init(_ body: ResponseBodyV1, receipt: EnclosedReceipt, digest: String, receivedAt: Timestamp, policy: ReceiptPolicy)
        throws(Refusal)
    {
        guard let environment = body.environment ?? receipt.environment else { throw .environmentMissing }
        guard policy.environments?.contains(environment) ?? true else { throw .wrongEnvironment }
        guard receipt.environment.map({ $0 == environment }) ?? true else { throw .environmentMismatch }
        guard let bundleID = body.vouchedBundleID ?? receipt.bundleID else { throw .bundleMissing }
        guard policy.takes(bundleID: bundleID) else { throw .wrongBundle }
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

extension ReceiptPolicy {
    /// Whether that app is configured.
    func takes(bundleID: String) -> Bool { apps?.contains { $0.bundleID == bundleID } ?? true }
}
