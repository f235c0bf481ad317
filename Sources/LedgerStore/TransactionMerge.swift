import AppStore
import Ledger
import Postgres
import SQL
import StrictJSON

/// Merges transactions: the statement joins two registers as ``TransactionRegister/join(_:)`` does.
enum TransactionMerge {
    /// Returns environment, transaction_id, payload_hash and receipt_hash of the rows that changed.
    static func statement(_ registers: [TransactionRegister]) -> Statement {
        let rows = registers.map(TransactionRow.init)
        return .mergeTransactions(
            // Those of the JWS half if there is one; else of the receipt half.
            environment: rows.map { $0.constant({ $0.key.environment.rawValue }, { $0.key.environment.rawValue }) },
            transactionID: rows.map { $0.constant({ $0.key.id }, { $0.key.id }) },
            originalTransactionID: rows.map { $0.constant({ $0.originalTransactionID }, { $0.originalTransactionID }) },
            webOrderLineItemID: rows.map { $0.constant({ $0.payload.webOrderLineItemId }, { $0.content.webOrderLineItemID }) },
            bundleID: rows.map { $0.constant({ $0.bundleID }, { $0.bundleID }) },
            productID: rows.map { $0.constant({ $0.productID }, { $0.productID }) },
            billingPlanType: rows.map { $0.payload?.billingPlanType?.rawValue },
            purchaseDate: rows.dates(\.purchaseDate),
            originalPurchaseDate: rows.dates { $0.originalPurchaseDate },
            quantity: rows.map(\.quantity),
            offerType: rows.map(\.offerType),
            offerIdentifier: rows.map(\.offerIdentifier),
            offerDiscountType: rows.map(\.offerDiscountType),
            offerPeriod: rows.map(\.offerPeriod),
            storefront: rows.map(\.storefront),
            storefrontID: rows.map(\.storefrontID),
            transactionReason: rows.map(\.transactionReason),
            currency: rows.map(\.currency),
            price: rows.map(\.price),
            appTransactionID: rows.map(\.appTransactionID),
            previousOriginalTransactionID: rows.map(\.previousOriginalTransactionID),
            productType: rows.map { $0.register.productType?.rawValue },
            inAppOwnershipType: rows.map(\.inAppOwnershipType),
            subscriptionGroupIdentifier: rows.map(\.subscriptionGroupIdentifier),
            // Those of the half that states them; only a JWS has the extent of a refund, whichever half reports the refund.
            expiresDate: rows.dates { $0.state({ $0.payload.expiresDate }, { $0.expiresDate }) },
            revocationDate: rows.dates { $0.state({ $0.payload.revocationDate }, { $0.revocationDate }) },
            revocationReason: rows.map { $0.state({ $0.payload.revocationReason?.rawValue }, { $0.revocationReason?.rawValue }) },
            isUpgraded: rows.map { $0.state({ $0.payload.isUpgraded }, { $0.isUpgraded }) },
            revocationType: rows.map { $0.payload?.revocationType?.rawValue },
            revocationPercentage: rows.map { $0.payload?.revocationPercentage },
            // The versions, the receipt half alone, and the columns that join by themselves.
            signedDate: rows.dates { $0.register.signed?.version.signedDate },
            payloadHash: rows.map { $0.register.signed?.version.hash },
            multiSeatInfo: rows.map { $0.payload?.multiSeatInfo?.document },
            commitmentInfo: rows.map { $0.payload?.commitmentInfo?.document },
            additionalTransactionReason: rows.map { $0.payload?.additionalTransactionReason?.rawValue },
            receiptDate: rows.dates { $0.receipt?.version.signedDate },
            receiptHash: rows.map { $0.receipt?.version.hash },
            receiptExpiresDate: rows.dates { $0.receipt?.content.expiresDate },
            receiptRevocationDate: rows.dates { $0.receipt?.content.revocationDate },
            receiptRevocationReason: rows.map { $0.receipt?.content.revocationReason?.rawValue },
            receiptIsUpgraded: rows.map { $0.receipt?.content.isUpgraded },
            periodNo: rows.map(\.register.periodNumber),
            isSubscription: rows.map(\.register.isSubscription),
            // For a charge without a JWS, the first token: later receipts do not change it.
            appAccountToken: rows.map { row in
                row.constant({ OrderNumber.named(by: $0.payload.appAccountToken) }, { _ in row.register.firstToken?.token })
            },
            firstSignedDate: rows.dates { $0.register.firstSignedDate },
            firstToken: rows.map { $0.register.firstToken?.token },
            firstTokenSignedDate: rows.dates { $0.firstTokenVersion?.signedDate },
            firstTokenHash: rows.map { $0.firstTokenVersion?.hash },
            known: rows.map(\.known)
        )
    }
}

extension [TransactionRow] {
    fileprivate func dates(_ date: (TransactionRow) -> Timestamp?) -> [PostgresTimestamp?] {
        map { PostgresTimestamp(date($0)) }
    }
}

/// One charge's register as a row of `transactions`: how a column gets its value from the two halves.
private struct TransactionRow: Sendable {
    let register: TransactionRegister
    /// Whether expiry, revocation and upgrade come from the receipt half.
    private let isStatedByReceipt: Bool

    init(_ register: TransactionRegister) {
        self.register = register
        isStatedByReceipt = register.isStatedByReceipt
    }

    /// All constants come from the JWS half if there is one; else from the receipt half.
    func constant<Value>(_ ofJWS: (TransactionFact) -> Value?, _ ofReceipt: (ReceiptFact) -> Value?) -> Value? {
        if let signed = register.signed { ofJWS(signed) } else { register.receipt.flatMap { ofReceipt($0.latest) } }
    }

    /// The version of each lasting member that the newest JWS lacks and that is known, null where only receipts have it; nil for most rows.
    var known: JSONText? {
        guard let signed = register.signed, register.receipt != nil || !register.lasting.isEmpty else { return nil }
        let members = LastingMember.allCases.compactMap { member -> (String, JSONValue)? in
            if let version = register.lasting[member]?.version {
                let date = JSONNumber(version.signedDate.millisecondsSince1970)
                return (member.rawValue, .array([.number(date), .string(version.hash.hexadecimal)]))
            }
            guard let receipts = register.receipt, !member.isIn(signed.payload), member.isIn(receipts) else { return nil }
            return (member.rawValue, .null)
        }
        return members.isEmpty ? nil : JSONText(JSONSerializer.text(JSONObject(members)))
    }

    func state<Value>(_ ofJWS: (TransactionFact) -> Value?, _ ofReceipt: (ReceiptFact.Content) -> Value?) -> Value? {
        if isStatedByReceipt { register.receipt.flatMap { ofReceipt($0.latest.content) } } else { register.signed.flatMap(ofJWS) }
    }

    /// The payload of the JWS half, for what no receipt has.
    var payload: JWSTransactionDecodedPayload? { register.signed?.payload }
    /// The receipt half.
    var receipt: ReceiptFact? { register.receipt?.latest }

    /// The version of the first token; nil where it comes from the JWS half.
    var firstTokenVersion: Version? {
        guard let version = register.firstToken?.version, version != register.signed?.version else { return nil }
        return version
    }

    /// Of a copy, the original purchase date, even if the newest fact does not have it.
    var purchaseDate: Timestamp? {
        let charge: (any Charge)? = register.signed ?? receipt
        return charge?.isCopy == true ? originalPurchaseDate ?? charge?.purchaseDate : charge?.purchaseDate
    }
    var originalPurchaseDate: Timestamp? {
        lasting(.originalPurchaseDate, { $0.originalPurchaseDate }, { $0.latest.content.originalPurchaseDate })
    }
    var quantity: Int32? { lasting(.quantity, { $0.quantity }, { $0.latest.content.quantity }) }
    var offerType: Int32? { lasting(.offerType, { $0.offerType?.rawValue }, { $0.latest.content.offerType?.rawValue }) }
    var offerIdentifier: String? { lasting(.offerIdentifier, { $0.offerIdentifier }, { $0.latest.content.offerIdentifier }) }
    var offerDiscountType: String? {
        lasting(.offerDiscountType, { $0.offerDiscountType?.rawValue }, { $0.latest.content.offerDiscountType?.rawValue })
    }
    var offerPeriod: String? { lasting(.offerPeriod) { $0.offerPeriod } }
    var storefront: String? { lasting(.storefront) { $0.storefront } }
    var storefrontID: String? { lasting(.storefrontID) { $0.storefrontId } }
    var transactionReason: String? { lasting(.transactionReason) { $0.transactionReason?.rawValue } }
    var currency: String? { lasting(.currency) { $0.currency } }
    var price: Int64? { lasting(.price).flatMap(\.price) }
    var appTransactionID: String? { lasting(.appTransactionID) { $0.appTransactionId } }
    var previousOriginalTransactionID: String? { lasting(.previousOriginalTransactionID) { $0.previousOriginalTransactionId } }
    var inAppOwnershipType: String? {
        lasting(.inAppOwnershipType, { $0.inAppOwnershipType?.rawValue }, { $0.inAppOwnershipType?.rawValue })
    }
    var subscriptionGroupIdentifier: String? {
        lasting(.subscriptionGroupIdentifier, { $0.subscriptionGroupIdentifier }, { $0.subscriptionGroupIdentifier })
    }

    /// A member that cannot change: that of the newest JWS that has it. Without a JWS it comes from receipts, and also where no JWS has it, if
    /// receipts count for it then.
    private func lasting<Value>(
        _ member: LastingMember,
        _ ofJWS: (JWSTransactionDecodedPayload) -> Value?,
        _ ofReceipts: (ReceiptHalf) -> Value? = { _ in nil }
    ) -> Value? {
        if let fact = lasting(member) { return ofJWS(fact.payload) }
        guard let receipts = register.receipt, register.signed == nil || member.isIn(receipts) else { return nil }
        return ofReceipts(receipts)
    }

    /// The newest JWS that has the member.
    private func lasting(_ member: LastingMember) -> TransactionFact? {
        guard let signed = register.signed else { return nil }
        return member.isIn(signed.payload) ? signed : register.lasting[member]
    }
}

extension [UInt8] {
    /// Two lower-case digits for each byte, as PostgreSQL's `encode` writes them.
    fileprivate var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension TransactionMultiSeatInfo {
    /// Its known members as Apple names them.
    fileprivate var document: JSONText {
        JSONText(members: [
            ("invitationManagement", invitationManagement.map { .string($0.rawValue) }),
            ("priceTiers", priceTiers.map { .array($0.map(\.object)) }),
            ("revokedSeatQuantity", revokedSeatQuantity.map { .integer($0) }),
        ])
    }
}

extension TransactionCommitmentInfo {
    /// Its known members as Apple names them.
    fileprivate var document: JSONText {
        JSONText(members: [
            ("billingPeriodNumber", billingPeriodNumber.map { .integer($0) }),
            ("totalBillingPeriods", totalBillingPeriods.map { .integer($0) }),
            ("commitmentExpiresDate", commitmentExpiresDate.map { .integer($0.millisecondsSince1970) }),
            ("commitmentPrice", commitmentPrice.map { .integer($0) }),
        ])
    }
}

extension MultiSeatPriceTier {
    fileprivate var object: JSONValue {
        .object(JSONObject([("price", price.map { .integer($0) } ?? .null), ("quantity", quantity.map { .integer($0) } ?? .null)]))
    }
}

extension JSONText {
    /// An object of the members that have a value.
    init(members: [(name: String, value: JSONValue?)]) {
        self.init(JSONSerializer.text(JSONObject(members.compactMap { member in member.value.map { (member.name, $0) } })))
    }
}
