package import AppStore
package import FoundationEssentials

/// A notification before it is signed: what the store says, about which charge and which contract, and when.
package struct SimulatedNotification: Hashable, Sendable {
    package var type: NotificationTypeV2
    package var subtype: Subtype?
    package var notificationUUID: UUID
    /// When the outer payload is signed.
    package var signedDate: Timestamp
    package var app: SimulatedApp
    package var content: Content
    package var shape: PayloadShape = .current

    /// The four kinds of content that exclude each other.
    package enum Content: Hashable, Sendable {
        /// `data`: a purchase's state, or nothing for a TEST.
        case data(PurchaseState)
        /// `summary`: the result of extending many subscriptions.
        case summary(ExtensionSummary)
        /// `externalPurchaseToken`.
        case externalPurchaseToken(ExternalToken)
        /// `appData`.
        case appData(SimulatedAppTransaction)
    }

    /// The transaction inside, when there is one.
    package var transaction: SimulatedTransaction? { state?.transaction?.value }
    /// The renewal info inside, when there is one.
    package var renewalInfo: SimulatedRenewalInfo? { state?.renewalInfo?.value }
    /// `data.status`.
    package var status: Status? { state?.status }
    /// The charge that it is about.
    package var transactionID: String? { transaction?.transactionID }
    /// The contract that it is about.
    package var originalTransactionID: String? { transaction?.originalTransactionID ?? renewalInfo?.originalTransactionID }

    /// `data`, when there is any.
    package var state: PurchaseState? {
        guard case .data(let state) = content else { return nil }
        return state
    }

    /// The same news under the same notificationUUID, its outer part signed at another instant, as a retry may be.
    ///
    /// Transaction and renewal info keep their signed dates: those date the state, and this state is as old as it was.
    package func resigned(at instant: Timestamp) -> SimulatedNotification {
        var copy = self
        copy.signedDate = instant
        return copy
    }

    /// The same news under another notificationUUID, as Apple repeats a CONSUMPTION_REQUEST.
    package func repeated(as uuid: UUID, at instant: Timestamp) -> SimulatedNotification {
        var copy = resigned(at: instant)
        copy.notificationUUID = uuid
        return copy
    }
}
