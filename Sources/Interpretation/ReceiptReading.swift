import AppStore
import AppStoreVerification
import Ledger

/// The facts and effects of one list of purchases. Purchases that lack a required member are left out.
struct ReceiptReading {
    private(set) var facts: [ReceiptFact] = []
    private(set) var effects: [Effect] = []
    /// The missing member of each purchase that was left out.
    private(set) var missingMembers: [String] = []

    /// No list at all.
    static let nothing = ReceiptReading()

    private init() {}

    /// Where the list was found.
    struct Source {
        let environment: AppStoreEnvironment
        let bundleID: String
        let form: ReceiptFact.Form
        /// The version of all of it.
        let statedAt: Timestamp
    }

    /// A cancellation counts as an upgrade, not as a refund, when another product of the same contract was bought this close to it. Signed
    /// receipts do not say which it is, and Apple gives no refund in the minute of another purchase.
    static let upgradeWindow = Duration.seconds(60)

    /// - Parameter unproven: entries with less proof than the list itself. An entry with the same purchase and the same cancellation decides
    ///   the kind of that cancellation, and nothing else.
    init(_ entries: [ReceiptEntry], from source: Source, classifiedBy unproven: [ReceiptTransaction] = []) {
        let cancelled = entries.contains { $0.cancellationDate != nil }
        let purchases = cancelled ? Dictionary(grouping: entries, by: \.contract) : [:]
        let hints = cancelled ? Dictionary(grouping: unproven, by: \.transactionID) : [:]
        facts.reserveCapacity(entries.count)
        // What is unreadable is left out: the caller says so.
        for entry in entries where !entry.isUnreadable {
            guard let transactionID = entry.transactionID, let productID = entry.productID, let purchaseDate = entry.purchaseDate,
                let contract = entry.contract
            else {
                missingMembers.append(entry.missingMember ?? "")
                continue
            }
            var content = entry.content
            var isPurchased = content.inAppOwnershipType?.isPurchase ?? true
            if let date = entry.cancellationDate {
                let hints = (hints[transactionID] ?? []).filter { $0.cancellationDate?.wholeSeconds == date.wholeSeconds }
                content.isUpgraded =
                    entry.isUpgraded || hints.contains { $0.isUpgraded == true }
                    || Self.isUpgrade(entry, at: date, among: purchases[contract] ?? [])
                content.revocationDate = content.isUpgraded ? nil : date
                content.revocationReason = content.isUpgraded ? nil : entry.cancellationReason
                isPurchased = isPurchased && hints.allSatisfy { $0.inAppOwnershipType?.isPurchase ?? true }
            } else {
                content.isUpgraded = entry.isUpgraded
            }
            let fact = ReceiptFact(
                key: LedgerKey(environment: source.environment, id: transactionID),
                statedAt: source.statedAt,
                form: source.form,
                originalTransactionID: contract,
                bundleID: source.bundleID,
                productID: productID,
                purchaseDate: purchaseDate,
                content: content
            )
            facts.append(fact)
            effects += fact.effects(isPurchased: isPurchased)
        }
    }

    private static func isUpgrade(_ entry: ReceiptEntry, at date: Timestamp, among purchases: [ReceiptEntry]) -> Bool {
        purchases.contains { other in
            guard let purchaseDate = other.purchaseDate, other.transactionID != entry.transactionID, other.productID != entry.productID
            else { return false }
            return purchaseDate >= date.advanced(by: .zero - upgradeWindow) && purchaseDate <= date.advanced(by: upgradeWindow)
        }
    }
}

extension EventFacts {
    /// Adds lists of purchases, and the reason if purchases were left out.
    mutating func add(_ readings: ReceiptReading...) {
        var known = Set(effects.map(\.key))
        for reading in readings {
            receipts += reading.facts
            effects += reading.effects.filter { known.insert($0.key).inserted }
        }
        let missing = readings.flatMap(\.missingMembers)
        guard let first = missing.first else { return }
        unhandledReason = "incomplete_transaction:\(first)" + (missing.count > 1 ? ":\(missing.count)" : "")
    }
}

/// One purchase in a receipt, independent of the receipt's form.
struct ReceiptEntry {
    var transactionID: String?
    var originalTransactionID: String?
    var productID: String?
    var purchaseDate: Timestamp?
    /// When it was refunded, revoked or replaced by an upgrade.
    var cancellationDate: Timestamp?
    var cancellationReason: RevocationReason?
    var isUpgraded: Bool
    /// Whether a member that the ledger needs was given and cannot be read.
    var isUnreadable = false
    /// Everything that can be copied as it is; the cancellation is left out.
    var content: ReceiptFact.Content
}

extension ReceiptEntry {
    /// In a signed receipt.
    init(_ purchase: InAppPurchase) {
        transactionID = purchase.transactionID
        originalTransactionID = purchase.originalTransactionID
        productID = purchase.productID
        purchaseDate = purchase.purchaseDate
        cancellationDate = purchase.cancellationDate
        isUpgraded = false
        content = ReceiptFact.Content()
        content.webOrderLineItemID = purchase.webOrderLineItemID
        content.originalPurchaseDate = purchase.originalPurchaseDate
        content.expiresDate = purchase.expiresDate
        content.quantity = purchase.quantity.flatMap { Int32(exactly: $0) }
        content.productType = Self.productType(of: purchase)
        setOffer(
            isTrial: purchase.isTrialPeriod,
            isIntroductory: purchase.isInIntroOfferPeriod,
            promotionalOfferID: purchase.promotionalOfferID,
            offerCode: nil
        )
    }

    /// In an answer of verifyReceipt.
    init(_ transaction: ReceiptTransaction) {
        transactionID = transaction.transactionID
        originalTransactionID = transaction.originalTransactionID
        productID = transaction.productID
        purchaseDate = transaction.purchaseDate
        cancellationDate = transaction.cancellationDate
        cancellationReason = transaction.cancellationReason
        isUpgraded = transaction.isUpgraded ?? false
        isUnreadable = transaction.isUnreadable
        content = ReceiptFact.Content()
        content.webOrderLineItemID = transaction.webOrderLineItemID.flatMap { $0 == "0" ? nil : $0 }
        content.originalPurchaseDate = transaction.originalPurchaseDate
        content.expiresDate = transaction.expiresDate
        content.quantity = transaction.quantity.flatMap { Int32(exactly: $0) }
        content.inAppOwnershipType = transaction.inAppOwnershipType
        content.subscriptionGroupIdentifier = transaction.subscriptionGroupIdentifier
        content.appAccountToken = transaction.appAccountToken
        setOffer(
            isTrial: transaction.isTrialPeriod,
            isIntroductory: transaction.isInIntroOfferPeriod,
            promotionalOfferID: transaction.promotionalOfferID,
            offerCode: transaction.offerCodeRefName
        )
    }

    /// The first missing member that the ledger needs.
    fileprivate var missingMember: String? {
        if transactionID == nil { return "transaction_id" }
        if productID == nil { return "product_id" }
        return purchaseDate == nil ? "purchase_date" : nil
    }

    /// The contract; the purchase itself where the receipt names none, as Xcode's do.
    var contract: String? { originalTransactionID ?? transactionID }

    /// Apple does not document the type: a type that contradicts members which only subscriptions have is ignored.
    private static func productType(of purchase: InAppPurchase) -> ProductType? {
        let type: ProductType? =
            switch purchase.productType {
            case .nonConsumable: .nonConsumable
            case .consumable: .consumable
            case .nonRenewingSubscription: .nonRenewingSubscription
            case .autoRenewableSubscription: .autoRenewableSubscription
            default: nil
            }
        let isPeriod = purchase.webOrderLineItemID != nil && purchase.expiresDate != nil
        return isPeriod && type != .autoRenewableSubscription ? nil : type
    }

    private mutating func setOffer(isTrial: Bool?, isIntroductory: Bool?, promotionalOfferID: String?, offerCode: String?) {
        if let promotionalOfferID {
            content.offerType = .promotionalOffer
            content.offerIdentifier = promotionalOfferID
        } else if let offerCode {
            content.offerType = .offerCode
            content.offerIdentifier = offerCode
        } else if isTrial == true || isIntroductory == true {
            content.offerType = .introductoryOffer
        }
        if isTrial == true { content.offerDiscountType = .freeTrial }
    }
}

extension VerifiedReceipt {
    /// What the receipt says, as of when Apple made it.
    func reading(classifiedBy unproven: [ReceiptTransaction] = []) -> ReceiptReading {
        ReceiptReading(
            receipt.purchases.map(ReceiptEntry.init),
            from: ReceiptReading.Source(environment: environment, bundleID: bundleID, form: .signedReceipt, statedAt: creationDate),
            classifiedBy: unproven
        )
    }
}
