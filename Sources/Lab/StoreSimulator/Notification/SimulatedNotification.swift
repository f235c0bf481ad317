package import AppStore
package import FoundationEssentials

/// A notification before it is signed.
package struct SimulatedNotification: Hashable, Sendable {
    package var type: NotificationTypeV2
    package var subtype: Subtype?
    package var notificationUUID: UUID
    /// When the outer payload is signed.
    package var signedDate: Timestamp
    package var app: SimulatedApp
    package var content: Content
    package var shape: PayloadShape = .current

    /// The kinds of content, of which a notification has one.
    package enum Content: Hashable, Sendable {
        /// `data`: a purchase's state, or nothing for a TEST.
        case data(PurchaseState)
        /// `summary`: the result of extending many subscriptions.
        case summary(ExtensionSummary)
        /// `externalPurchaseToken`.
        case externalPurchaseToken(ExternalToken)
        /// `appData`.
        case appData(SimulatedAppTransaction)
        /// `unclaimInfo`, and `data` if there is a state.
        case unclaimInfo(UnclaimedSeats, PurchaseState?)
    }

    /// The transaction inside, when there is one.
    package var transaction: SimulatedTransaction? { state?.transaction?.value }
    /// The renewal info inside, when there is one.
    package var renewalInfo: SimulatedRenewalInfo? { state?.renewalInfo?.value }
    /// `data.status`.
    package var status: Status? { state?.status }
    /// The identifier of its charge.
    package var transactionID: String? { transaction?.transactionID }
    /// The identifier of its contract.
    package var originalTransactionID: String? { transaction?.originalTransactionID ?? renewalInfo?.originalTransactionID }

    /// `data`, when there is any.
    package var state: PurchaseState? {
        switch content {
        case .data(let state): state
        case .unclaimInfo(_, let state): state
        case .summary, .externalPurchaseToken, .appData: nil
        }
    }

    /// Replaces `data`, if there is any.
    mutating func setState(_ state: PurchaseState) {
        switch content {
        case .data: content = .data(state)
        case .unclaimInfo(let seats, .some): content = .unclaimInfo(seats, state)
        case .unclaimInfo(_, nil), .summary, .externalPurchaseToken, .appData: break
        }
    }

    /// The same notification with another outer signed date, as a retry may have it.
    ///
    /// Transaction and renewal info keep their signed dates, which are the dates of their states.
    package func resigned(at instant: Timestamp) -> SimulatedNotification {
        var copy = self
        copy.signedDate = instant
        return copy
    }

    /// The same notification with another notificationUUID, as Apple repeats a CONSUMPTION_REQUEST.
    package func repeated(as uuid: UUID, at instant: Timestamp) -> SimulatedNotification {
        var copy = resigned(at: instant)
        copy.notificationUUID = uuid
        return copy
    }
}
