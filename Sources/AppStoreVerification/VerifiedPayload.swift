package import AppStore

/// A notification with every JWS in it, all of them verified.
package struct VerifiedNotification: Sendable {
    /// The outer payload.
    package let notification: SignedValue<ResponseBodyV2DecodedPayload>
    /// `data.signedTransactionInfo`.
    package let transaction: SignedValue<JWSTransactionDecodedPayload>?
    /// `data.signedRenewalInfo`.
    package let renewalInfo: SignedValue<JWSRenewalInfoDecodedPayload>?
    /// `appData.signedAppTransactionInfo`.
    package let appTransaction: SignedValue<AppTransaction>?
    /// What all parts agree on.
    package let environment: AppStoreEnvironment
    /// What all parts agree on; nil only when no part names one and any app is accepted.
    package let bundleID: String?
}

/// A verified JWS of any of Apple's four kinds.
package enum VerifiedPayload: Sendable {
    case notification(VerifiedNotification)
    case transaction(SignedValue<JWSTransactionDecodedPayload>)
    case renewalInfo(SignedValue<JWSRenewalInfoDecodedPayload>)
    case appTransaction(SignedValue<AppTransaction>)
}
