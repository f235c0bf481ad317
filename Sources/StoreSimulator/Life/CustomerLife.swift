import Randomness
package import AppStore
package import FoundationEssentials

/// One Apple ID's life with the app: each event changes its state and gives the notification that the store would send.
///
/// The clock stands still between events unless the caller advances it; an event that has its own time (a renewal, an expiry) moves the
/// clock to it when that is later. An event that does not fit the state throws `impossibleEvent` and changes nothing.
package struct CustomerLife: Sendable {
    package let app: SimulatedApp
    package let catalogue: SimulatedCatalogue
    /// What time it is in this life.
    package internal(set) var now: Timestamp
    /// Whether this Apple ID buys, or has what a family member bought.
    package internal(set) var ownership = InAppOwnershipType.purchased
    /// The subscription, once there was one.
    package internal(set) var subscription: SimulatedSubscription?
    /// What was bought once: consumables, non-consumables, non-renewing subscriptions.
    package internal(set) var oneTimeCharges: [SimulatedTransaction] = []
    /// One for each Apple ID and app.
    package let appTransactionID: String
    /// How much later, at least, each event is signed than the one before; 0 allows events of the same instant, which no version orders.
    package var leastMillisecondsBetweenEvents: Int64 = 1
    /// Tokens that random purchases may use again: an app that gives one token twice, or a token that went from hand to hand.
    package var tokensAtHand: [UUID] = []

    var identifiers: IdentifierSequence
    var generator: SeededGenerator
    private let firstSeen: Timestamp
    private var lastInnerDate = Timestamp(millisecondsSince1970: 0)
    private var lastOuterDate = Timestamp(millisecondsSince1970: 0)

    init(
        app: SimulatedApp,
        catalogue: SimulatedCatalogue,
        now: Timestamp,
        identifiers: IdentifierSequence,
        generator: SeededGenerator
    ) {
        self.app = app
        self.catalogue = catalogue
        self.now = now
        self.identifiers = identifiers
        self.generator = generator
        firstSeen = now
        appTransactionID = String(UInt64.random(in: 700_000_000_000_000_000..<710_000_000_000_000_000, using: &self.generator))
    }

    /// Moves the clock forward.
    package mutating func advance(by duration: Duration) {
        advance(to: now.advanced(by: duration))
    }

    /// Moves the clock forward; never back.
    package mutating func advance(to instant: Timestamp) {
        now = max(now, instant)
    }

    /// Numbers the charges to come from `first` on, in multiples of `step`: numbers of few digits grow longer, as Apple's did.
    package mutating func numberCharges(from first: UInt64, step: UInt64) {
        identifiers = IdentifierSequence(first: first, step: step)
    }

    /// The transaction with this identifier, of the subscription or paid once.
    package func transaction(_ id: String) -> SimulatedTransaction? {
        subscription?.transactions.first { $0.transactionID == id } ?? oneTimeCharges.first { $0.transactionID == id }
    }

    /// What the app's download looks like to the store now.
    package mutating func appTransaction() -> SimulatedAppTransaction {
        SimulatedAppTransaction(
            appTransactionID: appTransactionID,
            originalPurchaseDate: firstSeen.advanced(by: .seconds(-3600)),
            receiptCreationDate: now,
            deviceVerification: generator.bytes(48),
            deviceVerificationNonce: generator.uuid()
        )
    }

    /// A notification about a charge, with the contract's renewal info and status when it belongs to the subscription.
    mutating func notification(
        _ type: NotificationTypeV2,
        _ subtype: Subtype? = nil,
        about transaction: SimulatedTransaction,
        consumptionRequestReason: ConsumptionRequestReason? = nil
    ) -> SimulatedNotification {
        let outerDate = nextSigningDate()
        var state = PurchaseState()
        state.transaction = .init(value: transaction, signedDate: innerDate(before: outerDate))
        if let subscription, transaction.originalTransactionID == subscription.originalTransactionID {
            state.renewalInfo = .init(value: subscription.renewalInfo, signedDate: innerDate(before: outerDate))
            state.status = subscription.status
        }
        state.consumptionRequestReason = consumptionRequestReason
        lastInnerDate = max(lastInnerDate, state.transaction?.signedDate ?? outerDate, state.renewalInfo?.signedDate ?? outerDate)
        return notification(type, subtype, content: .data(state), signedDate: outerDate)
    }

    /// A notification about anything else.
    mutating func notification(_ type: NotificationTypeV2, content: SimulatedNotification.Content) -> SimulatedNotification {
        notification(type, nil, content: content, signedDate: nextSigningDate())
    }

    private mutating func notification(
        _ type: NotificationTypeV2,
        _ subtype: Subtype?,
        content: SimulatedNotification.Content,
        signedDate: Timestamp
    ) -> SimulatedNotification {
        SimulatedNotification(
            type: type,
            subtype: subtype,
            notificationUUID: generator.uuid(),
            signedDate: signedDate,
            app: app,
            content: content
        )
    }

    private mutating func nextSigningDate() -> Timestamp {
        now = max(now, lastOuterDate.advanced(by: .milliseconds(leastMillisecondsBetweenEvents)))
        lastOuterDate = now
        return now
    }

    /// Inner parts are signed at the same instant as the outer one or up to 100 ms before it, and never before those of the last event.
    private mutating func innerDate(before outerDate: Timestamp) -> Timestamp {
        let delay = Bool.random(using: &generator) ? 0 : Int64.random(in: 1...90, using: &generator)
        let earliest = lastInnerDate.advanced(by: .milliseconds(leastMillisecondsBetweenEvents))
        return min(outerDate, max(earliest, outerDate.advanced(by: .milliseconds(-delay))))
    }
}
