import AppStore
import FoundationEssentials
import Ledger
import Postgres

/// A charge's row of `transactions`, from one register: the columns without a prefix hold the value that counts of the two halves.
struct TransactionRow {
    private let register: TransactionRegister
    /// Whether expiry, revocation and upgrade come from the receipt half.
    private let isStatedByReceipt: Bool

    init(_ register: TransactionRegister) {
        self.register = register
        isStatedByReceipt = register.isStatedByReceipt
    }

    /// All constants come from the JWS half if there is one; else from the receipt half.
    private func constant<Value>(_ ofJWS: (TransactionFact) -> Value?, _ ofReceipt: (ReceiptFact) -> Value?) -> Value? {
        if let signed = register.signed { ofJWS(signed) } else { register.receipt.flatMap { ofReceipt($0.latest) } }
    }

    /// Constants that receipts never have.
    private func constant<Value>(_ ofJWS: (TransactionFact) -> Value?) -> Value? { register.signed.flatMap(ofJWS) }

    /// Constants that only some forms of a receipt have; they are kept from any of them.
    private func constant<Value>(_ ofJWS: (TransactionFact) -> Value?, gathered: (ReceiptHalf) -> Value?) -> Value? {
        if let signed = register.signed { ofJWS(signed) } else { register.receipt.flatMap(gathered) }
    }

    private func state<Value>(_ ofJWS: (TransactionFact) -> Value?, _ ofReceipt: (ReceiptFact.Content) -> Value?) -> Value? {
        if isStatedByReceipt { register.receipt.flatMap { ofReceipt($0.latest.content) } } else { register.signed.flatMap(ofJWS) }
    }

    private func stated<Value>(_ ofReceipt: (ReceiptFact) -> Value?) -> Value? { register.receipt.flatMap { ofReceipt($0.latest) } }
}

// Constants.
extension TransactionRow {
    var environment: String? { constant({ $0.key.environment.rawValue }, { $0.key.environment.rawValue }) }
    var transactionID: String? { constant({ $0.key.id }, { $0.key.id }) }
    var originalTransactionID: String? { constant({ $0.originalTransactionID }, { $0.originalTransactionID }) }
    var webOrderLineItemID: String? { constant({ $0.payload.webOrderLineItemId }, { $0.content.webOrderLineItemID }) }
    var bundleID: String? { constant({ $0.bundleID }, { $0.bundleID }) }
    var productID: String? { constant({ $0.productID }, { $0.productID }) }
    var purchaseDate: PostgresTimestamp? { PostgresTimestamp(constant({ $0.purchaseDate }, { $0.purchaseDate })) }
    var originalPurchaseDate: PostgresTimestamp? {
        PostgresTimestamp(constant({ $0.payload.originalPurchaseDate }, { $0.content.originalPurchaseDate }))
    }
    var quantity: Int32? { constant({ $0.payload.quantity }, { $0.content.quantity }) }
    var offerType: Int32? { constant({ $0.payload.offerType?.rawValue }, { $0.content.offerType?.rawValue }) }
    var offerIdentifier: String? { constant({ $0.payload.offerIdentifier }, { $0.content.offerIdentifier }) }
    var offerDiscountType: String? {
        constant({ $0.payload.offerDiscountType?.rawValue }, { $0.content.offerDiscountType?.rawValue })
    }
    var offerPeriod: String? { constant { $0.payload.offerPeriod } }
    var storefront: String? { constant { $0.payload.storefront } }
    var storefrontID: String? { constant { $0.payload.storefrontId } }
    var transactionReason: String? { constant { $0.payload.transactionReason?.rawValue } }
    var currency: String? { constant { $0.payload.currency } }
    var price: Int64? { constant { $0.payload.price } }
    var appTransactionID: String? { constant { $0.payload.appTransactionId } }
    var billingPlanType: String? { constant { $0.payload.billingPlanType?.rawValue } }
    var periodNumber: UUID? { constant({ $0.periodNumber }, { $0.periodNumber }) }

    var productType: String? { constant({ $0.payload.type?.rawValue }, gathered: { $0.productType?.rawValue }) }
    var inAppOwnershipType: String? {
        constant({ $0.payload.inAppOwnershipType?.rawValue }, gathered: { $0.inAppOwnershipType?.rawValue })
    }
    var subscriptionGroupIdentifier: String? {
        constant({ $0.payload.subscriptionGroupIdentifier }, gathered: { $0.subscriptionGroupIdentifier })
    }
    var isSubscription: Bool? { constant({ $0.isSubscription }, gathered: { $0.isSubscription }) }
    /// For a charge without a JWS, the first token: later receipts do not change it.
    var appAccountToken: UUID? { constant({ OrderNumber.named(by: $0.payload.appAccountToken) }, gathered: { _ in firstToken }) }
}

// State.
extension TransactionRow {
    var expiresDate: PostgresTimestamp? { PostgresTimestamp(state({ $0.payload.expiresDate }, { $0.expiresDate })) }
    var revocationDate: PostgresTimestamp? { PostgresTimestamp(state({ $0.payload.revocationDate }, { $0.revocationDate })) }
    var revocationReason: Int32? { state({ $0.payload.revocationReason?.rawValue }, { $0.revocationReason?.rawValue }) }
    /// Only a JWS has the extent of a refund, whichever half reports the refund.
    var revocationType: String? { constant { $0.payload.revocationType?.rawValue } }
    var revocationPercentage: Int32? { constant { $0.payload.revocationPercentage } }
    var isUpgraded: Bool? { state({ $0.payload.isUpgraded }, { $0.isUpgraded }) }
}

// Versions, the receipt half alone, and the columns that join on their own.
extension TransactionRow {
    var signedDate: PostgresTimestamp? { PostgresTimestamp(constant { $0.version.signedDate }) }
    var payloadHash: [UInt8]? { constant { $0.version.hash } }
    var receiptDate: PostgresTimestamp? { PostgresTimestamp(stated { $0.version.signedDate }) }
    var receiptHash: [UInt8]? { stated { $0.version.hash } }
    var receiptExpiresDate: PostgresTimestamp? { PostgresTimestamp(stated { $0.content.expiresDate }) }
    var receiptRevocationDate: PostgresTimestamp? { PostgresTimestamp(stated { $0.content.revocationDate }) }
    var receiptRevocationReason: Int32? { stated { $0.content.revocationReason?.rawValue } }
    var receiptIsUpgraded: Bool? { stated { $0.content.isUpgraded } }
    var firstSignedDate: PostgresTimestamp { PostgresTimestamp(register.firstSignedDate) }
    var firstToken: UUID? { register.firstToken?.token }
    var firstTokenSignedDate: PostgresTimestamp? { PostgresTimestamp(firstTokenVersion?.signedDate) }
    var firstTokenHash: [UInt8]? { firstTokenVersion?.hash }

    /// Also nil where the first token comes from the JWS half.
    private var firstTokenVersion: Version? {
        guard let version = register.firstToken?.version, version != register.signed?.version else { return nil }
        return version
    }
}
