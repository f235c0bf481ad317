package import AppStore
internal import OpenSSL

/// A verified notification with its verified nested JWS.
package struct VerifiedNotification: Sendable {
    /// The outer payload.
    package let notification: SignedValue<ResponseBodyV2DecodedPayload>
    /// `data.signedTransactionInfo`.
    package let transaction: SignedValue<JWSTransactionDecodedPayload>?
    /// `data.signedRenewalInfo`.
    package let renewalInfo: SignedValue<JWSRenewalInfoDecodedPayload>?
    /// `appData.signedAppTransactionInfo`.
    package let appTransaction: SignedValue<AppTransaction>?
    /// The environment, on which all parts agree.
    package let environment: AppStoreEnvironment
    /// The bundle, on which all parts agree; nil only when no part names one and any app is accepted.
    package let bundleID: String?
    /// The members for which genuine nested JWS are left out: `transaction.environment`, or `data.signedTransactionInfo` as a whole.
    package let unreadableParts: [String]
}

extension VerifiedNotification {
    /// The members of all parts that cannot be read.
    package var odd: [String] {
        notification.odd + (transaction?.odd ?? []) + (renewalInfo?.odd ?? []) + (appTransaction?.odd ?? []) + unreadableParts
    }

    /// The values of all parts that this version does not know.
    package var unknown: [UnknownValue] {
        notification.unknown + (transaction?.unknown ?? []) + (renewalInfo?.unknown ?? []) + (appTransaction?.unknown ?? [])
    }
}

/// A verified JWS of any of Apple's four kinds.
package enum VerifiedPayload: Sendable {
    case notification(VerifiedNotification)
    case transaction(SignedValue<JWSTransactionDecodedPayload>)
    case renewalInfo(SignedValue<JWSRenewalInfoDecodedPayload>)
    case appTransaction(SignedValue<AppTransaction>)
}

extension VerifiedPayload {
    /// The environment that the payload names; nil for transactions and renewal infos of before 2022.
    package var environment: AppStoreEnvironment? {
        switch self {
        case .notification(let verified): verified.environment
        case .transaction(let signed): signed.value.environment
        case .renewalInfo(let signed): signed.value.environment
        case .appTransaction(let signed): signed.value.receiptType
        }
    }
}

extension VerifiedPayload {
    /// The members that cannot be read.
    package var odd: [String] {
        switch self {
        case .notification(let verified): verified.odd
        case .transaction(let signed): signed.odd
        case .renewalInfo(let signed): signed.odd
        case .appTransaction(let signed): signed.odd
        }
    }
}

/// A decoded payload whose signature was verified.
package struct SignedValue<Payload: Sendable>: Sendable {
    private let shared: SharedValue<Payload>
    package var value: Payload { _read { yield shared.value } }
    /// The signed JSON.
    package let payloadBytes: [UInt8]
    /// SHA-256 of `payloadBytes`, independent of the signature; computed at each call.
    package var payloadHash: [UInt8] { Digest.sha256(payloadBytes) }
    /// When Apple signed it; `receiptCreationDate` of an app transaction.
    package let signedDate: Timestamp
    /// The known members that cannot be read: `data.bundleVersion`, `transaction.price`.
    package let odd: [String]
    /// The values that this version does not know, each at its place in an event: `transaction.type`.
    package let unknown: [UnknownValue]

    init(value: Payload, payloadBytes: [UInt8], signedDate: Timestamp, odd: [String] = [], unknown: [UnknownValue] = []) {
        shared = SharedValue(value)
        self.payloadBytes = payloadBytes
        self.signedDate = signedDate
        self.odd = odd
        self.unknown = unknown
    }
}
