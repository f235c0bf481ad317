import AppStore
import FoundationEssentials
import SignedTesting

@testable import StoreSimulator

/// What Apple says about a purchase at one moment. Days are counted from ``SignedScene/now``: those of the past are negative.
struct Sale: Sendable {
    var transaction: SimulatedTransaction
    /// Nil for a product without periods.
    var renewal: SimulatedRenewalInfo?
    var status: Status?
    /// When Apple signed it; by default when it was bought.
    var signedDay: Double
    var app = SignedScene.app

    /// A period of a subscription.
    init(
        _ product: String,
        _ id: String,
        of contract: String? = nil,
        onDay day: Double,
        until end: Double? = nil,
        price: Int64 = 9990,
        token: UUID? = nil
    ) {
        let plan = SimulatedProduct.subscription(product, price: price)
        let (contract, end) = (contract ?? id, end ?? day + 30)
        transaction = SimulatedTransaction(
            transactionID: id,
            originalTransactionID: contract,
            webOrderLineItemID: "5" + id,
            product: plan,
            purchaseDate: Self.day(day),
            originalPurchaseDate: Self.day(day),
            expiresDate: Self.day(end),
            appAccountToken: token,
            price: price,
            appTransactionID: "700"
        )
        renewal = SimulatedRenewalInfo(
            originalTransactionID: contract,
            autoRenewProduct: plan,
            productID: product,
            autoRenews: true,
            recentSubscriptionStartDate: Self.day(day),
            renewalDate: Self.day(end),
            appTransactionID: "700"
        )
        (status, signedDay) = (.active, day)
    }

    /// A month of a subscription.
    init(_ id: String, of contract: String? = nil, onDay day: Double, until end: Double? = nil, price: Int64 = 9990) {
        self.init("pro.monthly", id, of: contract, onDay: day, until: end, price: price)
    }

    /// A product without periods.
    init(_ product: String, _ type: ProductType, _ id: String, onDay day: Double, price: Int64 = 49_990, token: UUID? = nil) {
        transaction = SimulatedTransaction(
            transactionID: id,
            originalTransactionID: id,
            product: .oneTime(product, type, price: price),
            purchaseDate: Self.day(day),
            originalPurchaseDate: Self.day(day),
            appAccountToken: token,
            price: price,
            appTransactionID: "700"
        )
        signedDay = day
    }

    static func day(_ day: Double) -> Timestamp { SignedScene.now.advanced(by: .milliseconds(Int64(day * 86_400_000))) }

    func with(_ change: (inout Sale) -> Void) -> Sale {
        var copy = self
        change(&copy)
        return copy
    }

    /// The transaction that Apple makes when a device restores the purchase.
    func copy(_ id: String, onDay day: Double) -> Sale {
        with {
            ($0.transaction.transactionID, $0.transaction.purchaseDate, $0.signedDay) = (id, Self.day(day), day)
            $0.transaction.appAccountToken = nil
        }
    }

    /// The same purchase, refunded that day.
    func refunded(onDay day: Double, signedDay: Double? = nil) -> Sale {
        revoked(by: .refund(at: Self.day(day)), signedDay: signedDay ?? day)
    }

    /// The same purchase, after a refund of a part (in thousandths of a percent) or the end of family sharing.
    func revoked(onDay day: Double, as type: RevocationType, percentage: Int32? = nil) -> Sale {
        var revocation = SimulatedTransaction.Revocation.refund(at: Self.day(day))
        (revocation.type, revocation.percentage) = (type, percentage)
        return revoked(by: revocation, signedDay: day)
    }

    private func revoked(by revocation: SimulatedTransaction.Revocation, signedDay: Double) -> Sale {
        with {
            ($0.transaction.revocation, $0.signedDay) = (revocation, signedDay)
            $0.status = $0.renewal == nil ? nil : .revoked
        }
    }

    /// The same period, of which the renewal has failed.
    func failed(_ status: Status, onDay day: Double, graceUntil end: Double? = nil) -> Sale {
        with {
            ($0.status, $0.signedDay) = (status, day)
            $0.renewal?.isInBillingRetryPeriod = true
            $0.renewal?.gracePeriodExpiresDate = end.map(Self.day)
        }
    }

    /// The same period, after the end of its contract.
    func expired(onDay day: Double, _ intent: ExpirationIntent) -> Sale {
        with {
            ($0.status, $0.signedDay) = (.expired, day)
            $0.renewal?.autoRenews = false
            $0.renewal?.expirationIntent = intent
        }
    }

    /// The same purchase, signed that day.
    func signed(onDay day: Double) -> Sale { with { $0.signedDay = day } }

    func notification(_ type: NotificationTypeV2, _ subtype: Subtype? = nil) -> SimulatedNotification {
        let date = Self.day(signedDay)
        return SimulatedNotification(
            type: type,
            subtype: subtype,
            notificationUUID: UUID(),
            signedDate: date,
            app: app,
            content: .data(
                PurchaseState(
                    transaction: .init(value: transaction, signedDate: date),
                    renewalInfo: renewal.map { .init(value: $0, signedDate: date) },
                    status: status
                )
            )
        )
    }
}
