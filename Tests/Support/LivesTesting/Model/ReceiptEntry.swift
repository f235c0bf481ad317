import AppStore
import FoundationEssentials
import Ledger
import StoreSimulator
import StrictJSON

/// One purchase in a receipt or in Apple's answer, from which an assertion is made.
struct ReceiptEntry {
    let form: ReceiptFact.Form
    let id: String
    let contract: String
    let product: String
    let purchaseDate: Timestamp
    private let purchase: InAppPurchase
    /// Members that only `latest_receipt_info` has.
    private let details: Details?

    struct Details {
        let isUpgraded: Bool
        let ownership: InAppOwnershipType?
        let reason: RevocationReason?
        let group: String?
        let token: UUID?
        let offerCode: String?
    }

    /// An entry of a receipt or of `in_app`.
    init(_ purchase: InAppPurchase, form: ReceiptFact.Form, details: Details? = nil) {
        self.form = form
        self.purchase = purchase
        self.details = details
        id = purchase.transactionID ?? ""
        contract = purchase.originalTransactionID ?? id
        product = purchase.productID ?? ""
        purchaseDate = purchase.purchaseDate ?? Timestamp(millisecondsSince1970: 0)
    }

    /// An entry of `latest_receipt_info`.
    init(_ transaction: SimulatedTransaction, layout: LegacyLayout) {
        let details = Details(
            isUpgraded: transaction.isUpgraded && !layout.contains(.withoutUpgrades),
            ownership: layout.contains(.withoutOwnership) ? nil : transaction.ownership,
            reason: transaction.revocation?.reason,
            group: transaction.product.subscriptionGroupID,
            token: transaction.appAccountToken,
            offerCode: transaction.offer?.type == .offerCode ? transaction.offer?.identifier : nil
        )
        self.init(InAppPurchase(transaction), form: .latestReceiptInfo, details: details)
    }

    var cancellationDate: Timestamp? { purchase.cancellationDate }
    var isMarkedUpgraded: Bool { details?.isUpgraded ?? false }
    var isShared: Bool { details?.ownership.map { $0 != .purchased } ?? false }
    var isOfSubscription: Bool {
        purchase.productType.map { $0 == .autoRenewableSubscription } ?? (purchase.webOrderLineItemID != nil || purchase.expiresDate != nil)
    }

    /// Only a signed receipt has the product type.
    var isOfConsumable: Bool { form == .signedReceipt && purchase.productType == .consumable }

    /// Whether another plan replaced it: another product of the contract was bought within a minute of the cancellation.
    func isReplaced(by others: [ReceiptEntry]) -> Bool {
        guard let cancelled = cancellationDate?.millisecondsSince1970 else { return false }
        return others.contains { other in
            other.contract == contract && other.id != id && other.product != product
                && abs(other.purchaseDate.millisecondsSince1970 - cancelled) <= 60_000
        }
    }

    /// - Parameter isUpgraded: whether its cancellation was an upgrade instead of a refund.
    func assertion(of app: SimulatedApp, statedAt: Timestamp, isUpgraded: Bool) -> Assertion {
        var content = ReceiptFact.Content()
        content.webOrderLineItemID = purchase.webOrderLineItemID
        content.originalPurchaseDate = purchase.originalPurchaseDate
        content.expiresDate = purchase.expiresDate
        content.quantity = purchase.quantity.flatMap(Int32.init(exactly:))
        content.isUpgraded = isUpgraded
        if !isUpgraded, cancellationDate != nil {
            content.revocationDate = cancellationDate
            content.revocationReason = details?.reason
        }
        (content.offerType, content.offerIdentifier) = offer
        content.offerDiscountType = purchase.isTrialPeriod == true ? .freeTrial : nil
        content.productType = form == .signedReceipt ? purchase.productType.flatMap { Self.types[$0] } : nil
        content.inAppOwnershipType = details?.ownership
        content.subscriptionGroupIdentifier = details?.group
        content.appAccountToken = details?.token
        // Uses the ledger's hash; its content is compared separately.
        let fact = ReceiptFact(
            key: LedgerKey(environment: app.environment, id: id),
            statedAt: statedAt,
            form: form,
            originalTransactionID: contract,
            bundleID: app.bundleID,
            productID: product,
            purchaseDate: purchaseDate,
            content: content
        )
        return Assertion(
            half: .receipt,
            environment: app.environment.rawValue,
            json: json(content, app),
            signed: statedAt.millisecondsSince1970,
            hash: fact.version.hash
        )
    }

    private static let types: [ReceiptProductType: ProductType] = [
        .nonConsumable: .nonConsumable, .consumable: .consumable, .nonRenewingSubscription: .nonRenewingSubscription,
        .autoRenewableSubscription: .autoRenewableSubscription,
    ]

    private var offer: (OfferType?, String?) {
        if let identifier = purchase.promotionalOfferID { return (.promotionalOffer, identifier) }
        if let name = details?.offerCode { return (.offerCode, name) }
        return (purchase.isTrialPeriod == true || purchase.isInIntroOfferPeriod == true ? .introductoryOffer : nil, nil)
    }

    private func json(_ content: ReceiptFact.Content, _ app: SimulatedApp) -> JSONObject {
        var json = JSONObject()
        func add(_ name: String, _ value: String?) { json[name] = value.map(JSONValue.string) }
        func add(_ name: String, _ date: Timestamp?) { json[name] = date.map(JSONValue.timestamp) }
        add("transactionId", id)
        add("originalTransactionId", contract)
        add("webOrderLineItemId", content.webOrderLineItemID)
        add("bundleId", app.bundleID)
        add("productId", product)
        add("type", content.productType?.rawValue)
        add("subscriptionGroupIdentifier", content.subscriptionGroupIdentifier)
        add("purchaseDate", purchaseDate)
        add("originalPurchaseDate", content.originalPurchaseDate)
        add("expiresDate", content.expiresDate)
        json["quantity"] = content.quantity.map { .integer($0) }
        add("appAccountToken", content.appAccountToken?.text)
        add("inAppOwnershipType", content.inAppOwnershipType?.rawValue)
        add("revocationDate", content.revocationDate)
        json["revocationReason"] = content.revocationReason.map { .integer($0.rawValue) }
        json["isUpgraded"] = .bool(content.isUpgraded)
        json["offerType"] = content.offerType.map { .integer($0.rawValue) }
        add("offerIdentifier", content.offerIdentifier)
        add("offerDiscountType", content.offerDiscountType?.rawValue)
        return json
    }
}
