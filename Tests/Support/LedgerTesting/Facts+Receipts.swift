import AppStore
package import Ledger
import StrictJSON

extension Facts.Charge {
    /// A receipt's fact about the charge; the receipt has this form and day.
    package func receipt(
        _ form: ReceiptFact.Form,
        onDay day: Double,
        isUpgraded: Bool = false,
        change: (inout ReceiptFact.Content) -> Void = { _ in }
    ) -> ReceiptFact {
        var content = ReceiptFact.Content()
        content.webOrderLineItemID = lineItem
        content.expiresDate = expiresDay.map { Facts.timestamp(Facts.day($0)) }
        content.isUpgraded = isUpgraded
        content.revocationDate = isUpgraded ? nil : revocationDay.map { Facts.timestamp(Facts.day($0)) }
        content.quantity = 1
        if form == .signedReceipt { content.productType = type }
        if form == .latestReceiptInfo {
            content.inAppOwnershipType = ownership
            content.subscriptionGroupIdentifier = "20000"
            content.appAccountToken = token
        }
        change(&content)
        return ReceiptFact(
            key: LedgerKey(environment: environment, id: id),
            statedAt: Facts.timestamp(Facts.day(day)),
            form: form,
            originalTransactionID: contract,
            bundleID: bundle,
            productID: product,
            purchaseDate: Facts.timestamp(Facts.day(purchaseDay)),
            content: content
        )
    }
}

extension Facts {
    /// A fact about a contract's renewal on that day.
    package static func legacyRenewal(
        _ contract: String,
        bundle: String = "com.example.app",
        onDay day: Double,
        seenOnDay receiptDay: Double? = nil,
        willRenew: Bool = true,
        isInBillingRetry: Bool = false,
        graceUntilDay: Double? = nil,
        provenance: V1RenewalFact.Provenance = .notificationV1
    ) throws -> V1RenewalFact {
        var members: [(String, JSONValue)] = [
            ("original_transaction_id", .string(contract)), ("product_id", .string("pro.monthly")),
            ("auto_renew_product_id", .string("pro.monthly")), ("auto_renew_status", .string(willRenew ? "1" : "0")),
            ("is_in_billing_retry_period", .string(isInBillingRetry ? "1" : "0")),
        ]
        if let graceUntilDay { members.append(("grace_period_expires_date_ms", .string("\(Facts.day(graceUntilDay))"))) }
        return V1RenewalFact(
            key: V1RenewalFact.Key(contract: LedgerKey(environment: .production, id: contract), bundleID: bundle),
            provenance: provenance,
            renewal: try PendingRenewalInfo(JSONObject(members)),
            statedAt: timestamp(Facts.day(day)),
            receiptDate: receiptDay.map { timestamp(Facts.day($0)) }
        )
    }

    /// A post by `user` on that day, of a receipt with the contract.
    package static func receiptPost(
        _ contract: String,
        by user: String,
        naming transactionID: String? = nil,
        onDay day: Double,
        eventID: Int64
    ) -> ClientPost {
        ClientPost(
            key: ClientPost.Key(
                contract: LedgerKey(environment: .production, id: contract),
                user: user,
                isReceipt: true,
                transactionID: transactionID
            ),
            receivedAt: timestamp(Facts.day(day)),
            eventID: eventID
        )
    }

    /// An event with many charges, like a receipt.
    package static func receiptEvent(
        _ id: Int64,
        receipts: [ReceiptFact] = [],
        renewals: [V1RenewalFact] = [],
        posts: [ClientPost] = [],
        calls: [OutboundCall] = []
    ) -> EventFacts {
        var facts = EventFacts(eventID: id, environment: receipts.first?.key.environment ?? .production, notificationUUID: nil)
        (facts.receipts, facts.legacyRenewals, facts.posts, facts.calls) = (receipts, renewals, posts, calls)
        return facts
    }
}
