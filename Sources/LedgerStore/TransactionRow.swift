import AppStore
import Ledger
import Postgres
import StrictJSON

/// One charge's register as a row of `transactions`: how a column gets its value from the two halves.
struct TransactionRow: Sendable {
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
}

/// The members that cannot change.
extension TransactionRow {
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
