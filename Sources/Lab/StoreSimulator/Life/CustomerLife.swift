package import AppStore
package import FoundationEssentials
import Randomness

/// The history of one Apple ID with the app. Each event changes its state and returns the notification that the store would send.
///
/// The caller advances the clock. An event with a time of its own (a renewal, an expiry) advances it to that time. An event that does not
/// fit the state throws `impossibleEvent` and changes nothing.
package struct CustomerLife: Sendable {
    package let app: SimulatedApp
    package internal(set) var catalogue: SimulatedCatalogue
    /// The current time of this customer.
    package internal(set) var now: Timestamp
    /// Whether this Apple ID buys, shares a family member's purchases, or has a seat that a group or an organization bought.
    package internal(set) var ownership = InAppOwnershipType.purchased
    /// Its seat in a group or an organization, if it has one.
    package internal(set) var assignment: SeatAssignment?
    /// The subscription; nil before the first one.
    package internal(set) var subscription: SimulatedSubscription?
    /// Charges of consumables, non-consumables and non-renewing subscriptions.
    package internal(set) var oneTimeCharges: [SimulatedTransaction] = []
    /// One for each Apple ID and app.
    package internal(set) var appTransactionID: String
    /// The minimum time between the signatures of two events. With 0, two events can have the same signed date, which does not order them.
    package var leastMillisecondsBetweenEvents: Int64 = 1
    /// Tokens that random purchases may reuse, as when an app uses one token for two purchases.
    package var reusableTokens: [UUID] = []
    /// Steps of random lives beside ``LifeStep/all``. Without them, a life takes the steps that it took before they existed.
    package var additionalSteps: [LifeStep] = []

    var identifiers: IdentifierSequence
    var generator: SeededGenerator
    /// For the additional steps: what ``generator`` draws does not depend on them.
    var additionsGenerator: SeededGenerator
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
        var seeds = generator
        additionsGenerator = SeededGenerator(seed: seeds.next() ^ 0x5ea7_5ea7_5ea7_5ea7)
        firstSeen = now
        appTransactionID = String(UInt64.random(in: 700_000_000_000_000_000..<710_000_000_000_000_000, using: &self.generator))
    }

    /// Moves the clock forward.
    package mutating func advance(by duration: Duration) {
        advance(to: now.advanced(by: duration))
    }

    /// Moves the clock forward to an instant, unless that is in the past.
    package mutating func advance(to instant: Timestamp) {
        now = max(now, instant)
    }

    /// Numbers later charges from `first` on, in multiples of `step`, so that the number of digits can grow, as Apple's did.
    package mutating func numberCharges(from first: UInt64, step: UInt64) {
        identifiers = IdentifierSequence(first: first, step: step)
    }

    /// The transaction with this identifier.
    package func transaction(_ id: String) -> SimulatedTransaction? {
        subscription?.transactions.first { $0.transactionID == id } ?? oneTimeCharges.first { $0.transactionID == id }
    }

    /// The app transaction: the store's record of the app's download.
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

    /// A notification about something else.
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
