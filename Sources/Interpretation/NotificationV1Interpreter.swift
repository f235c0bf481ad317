package import AppStore
import AppStoreVerification
package import Ledger

/// Turns an authentic notification V1 into facts and effects. Pure.
///
/// Charges, grants and refunds come from the receipt. The renewal, which receipts do not hold, comes from the body. A body without an app may
/// have been sent with the secret of another app: it is then trusted only about contracts in its receipt.
package enum NotificationV1Interpreter {
    /// The remark on a body that names no app, and contracts that are not in its receipt.
    package static let renewalNotInReceipt = "renewal_not_in_receipt"

    /// - Parameter settings: whether Apple is asked about a receipt that cannot be verified here.
    package static func facts(of notification: AuthenticNotificationV1, eventID: Int64, settings: LegacySettings) -> EventFacts {
        let body = notification.body
        var facts = EventFacts(eventID: eventID, environment: notification.environment, notificationUUID: notification.uuid)
        if let receipt = notification.receipt.verified {
            facts.add(receipt.reading(classifiedBy: body.vouchedBundleID == nil ? [] : body.transactions))
        }
        let renewals = renewals(of: notification, beside: facts.receipts)
        facts.legacyRenewals = renewals.filter { isVouchedFor($0.contract.id, notification, facts) }
        if facts.legacyRenewals.count < renewals.count { facts.remark = renewalNotInReceipt }
        if let problem = notification.receipt.problem { facts.unhandledReason = problem }
        if settings.asksApple(about: notification.bundleID), let call = OutboundCall.verifyReceipt(about: notification, eventID: eventID) {
            facts.calls = [call]
        }
        guard let meaning = NotificationV1Meaning.of(body.notificationType) else {
            facts.unhandledReason = "unknown_notification"
            return facts
        }
        facts.refundStatement = RefundRequestFact(notification, meaning.type, receipts: facts.receipts)
        if meaning.type == .refund, facts.refundStatement == nil, notification.receipt.verified != nil {
            facts.remark = "refund_not_in_receipt"
        }
        if let effect = lifecycle(of: notification, among: renewals, facts) { facts.effects.append(effect) }
        return facts
    }

    /// One renewal for each entry of `pending_renewal_info`. Without entries, the outer members make one, if only one contract can be meant.
    /// Without a date there is none, because it could not be ordered.
    private static func renewals(of notification: AuthenticNotificationV1, beside receipts: [ReceiptFact]) -> [V1RenewalFact] {
        let body = notification.body
        guard let statedAt = notification.statedAt else { return [] }
        var renewals = body.unifiedReceipt?.pendingRenewalInfo ?? []
        if renewals.isEmpty, let contract = contract(of: body, receipts) {
            renewals = PendingRenewalInfo(outerMembersOf: body, originalTransactionID: contract).map { [$0] } ?? []
        }
        return renewals.compactMap { renewal in
            renewal.originalTransactionID.map { contract in
                V1RenewalFact(
                    key: V1RenewalFact.Key(
                        contract: LedgerKey(environment: notification.environment, id: contract),
                        bundleID: notification.bundleID
                    ),
                    provenance: .notificationV1,
                    renewal: renewal,
                    statedAt: statedAt,
                    receiptDate: notification.receipt.verified?.creationDate
                )
            }
        }
    }

    /// Whether the body is trusted about a contract: the app's secret proves the body, or Apple's signature proves the contract.
    private static func isVouchedFor(_ contract: String, _ notification: AuthenticNotificationV1, _ facts: EventFacts) -> Bool {
        notification.body.vouchedBundleID != nil || facts.receipts.contains { $0.originalTransactionID == contract }
    }

    /// The contract that the body names, else the only subscription in the receipt, else the only purchase in the body.
    private static func contract(of body: ResponseBodyV1, _ receipts: [ReceiptFact]) -> String? {
        if let named = body.originalTransactionID { return named }
        let subscriptions = Set(receipts.lazy.filter(\.isSubscription).map(\.originalTransactionID))
        let candidates = subscriptions.isEmpty ? Set(body.originalTransactionIDs) : subscriptions
        return candidates.count == 1 ? candidates.first : nil
    }

    /// What happened to the contract, beyond the charge: one effect for all deliveries.
    ///
    /// - Parameter renewals: all in the notification, also those that are not trusted.
    private static func lifecycle(
        of notification: AuthenticNotificationV1,
        among renewals: [V1RenewalFact],
        _ facts: EventFacts
    ) -> Effect? {
        let renewal = NotificationV1Renewal(of: notification.body, among: renewals)
        guard let kind = renewal.effect(of: notification.body.notificationType), let occurredAt = notification.statedAt else { return nil }
        let charge = facts.refundStatement.flatMap { statement in facts.receipts.first { $0.key.id == statement.transactionID } }
        let contract = charge?.originalTransactionID ?? renewal.contract
        guard notification.body.vouchedBundleID != nil || notification.receipt.verified != nil else { return nil }
        if let contract, !isVouchedFor(contract, notification, facts) { return nil }
        return Effect(
            key: EffectKey(environment: notification.environment, kind: kind, notification: notification.uuid),
            occurredAt: occurredAt,
            originalTransactionID: contract,
            transactionID: charge?.key.id,
            productID: charge?.productID ?? renewal.productID,
            vouchedBundleID: notification.bundleID,
            gracePeriodExpiresDate: kind == .gracePeriodStarted ? renewal.gracePeriodExpiresDate : nil
        )
    }
}

extension AuthenticNotificationV1 {
    /// The version of the body's renewals: when renewal was last turned on or off, or when the enclosed receipt was made, if that is later.
    fileprivate var statedAt: Timestamp? { [changeDate, receipt.verified?.creationDate].compactMap(\.self).max() }
}

extension RefundRequestFact {
    /// What the notification says about the refund of a charge in its receipt; nil when it concerns something else, or an ambiguous charge.
    fileprivate init?(_ notification: AuthenticNotificationV1, _ type: NotificationTypeV1, receipts: [ReceiptFact]) {
        let found: (kind: Kind, charge: ReceiptFact?)? =
            switch type {
            case .consumptionRequest: (.asked, Self.asked(about: notification.body, among: receipts))
            case .refund: (.refunded, Self.latestRefund(in: notification.body, among: receipts))
            default: nil
            }
        guard let found, let charge = found.charge, let date = notification.receipt.verified?.creationDate else { return nil }
        self.init(
            found.kind,
            key: NotificationKey(environment: notification.environment, uuid: notification.uuid),
            of: charge,
            signedDate: date
        )
    }

    private static func asked(about body: ResponseBodyV1, among receipts: [ReceiptFact]) -> ReceiptFact? {
        if let named = receipts.first(where: { $0.key.id == body.originalTransactionID }) { return named }
        let named = Set(body.transactions.compactMap(\.transactionID))
        let candidates = receipts.filter { named.contains($0.key.id) }
        return candidates.count == 1 ? candidates.first : nil
    }

    /// The latest of the refunds in the body; if the body has none, of all refunds in the receipt.
    private static func latestRefund(in body: ResponseBodyV1, among receipts: [ReceiptFact]) -> ReceiptFact? {
        let named = Set(body.transactions.lazy.filter { $0.cancellationDate != nil }.compactMap(\.transactionID))
        let refunds = receipts.filter { $0.content.revocationDate != nil && (named.isEmpty || named.contains($0.key.id)) }
        return refunds.max { $0.refundOrder < $1.refundOrder }
    }
}

extension ReceiptFact {
    /// Orders by the date of the refund; within a second, by the transaction's number.
    fileprivate var refundOrder: (Int64, Int, String) {
        (content.revocationDate?.millisecondsSince1970 ?? 0, key.id.utf8.count, key.id)
    }
}

extension NotificationV1Interpreter: EventInterpreter {
    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts {
        let (event, reader) = (reading.event, reading.reader)
        let (json, body) = try reading.decodedDocument(as: ResponseBodyV1.self)
        let receipt = enclosedReceipt(in: body, &reading)
        reading.labels = EventLabels(body)
        let notification: AuthenticNotificationV1
        do throws(AuthenticNotificationV1.Refusal) {
            notification = try AuthenticNotificationV1(
                body,
                receipt: receipt,
                digest: ContentDigest.ofNotificationV1(json),
                // Not the time of this attempt: the facts must not depend on when the event is processed.
                receivedAt: event.receivedAt,
                policy: reader.receipts.policy
            )
        } catch {
            let isMissing = error == .environmentMissing || error == .bundleMissing
            throw (isMissing ? body.odd.first(named: naming) : nil).map(EventRefusal.unreadable) ?? EventRefusal(error.rawValue)
        }
        // What decides to whom it belongs never counts as absent.
        if let member = body.odd.first(named: deciding) { throw .unreadable(member) }
        reading.labels = EventLabels(notification)
        switch receipt {
        case .refused(let rejection) where rejection.isRetryable: throw EventRefusal(rejection)
        case .verified(let receipt): try reading.refuseNUL(in: receipt)
        case .refused, .absent: break
        }
        var facts = facts(of: notification, eventID: event.id, settings: reader.legacy)
        if let member = body.odd.first(named: needed) { facts.unhandledReason = EventRefusal.unreadableReason(member) }
        reading.labels.name(facts)
        return facts
    }

    /// Members that name environment and app.
    private static let deciding = Set([ResponseBodyV1.Member.environment, .bundleID].map(\.rawValue))

    /// The same, and what may contain them.
    private static let naming = deciding.union(
        [
            ResponseBodyV1.Member.unifiedReceipt, .latestReceipt, .latestReceiptInfo, .latestExpiredReceipt, .latestExpiredReceiptInfo,
        ].map(\.rawValue)
    )

    /// Members that say what happened, and to which contract.
    private static let needed = Set(
        [
            ResponseBodyV1.Member.notificationType, .originalTransactionID, .unifiedReceipt, .latestReceipt, .latestExpiredReceipt,
        ].map(\.rawValue) + [UnifiedReceipt.Member.pendingRenewalInfo.rawValue]
    )

    private static func enclosedReceipt(in body: ResponseBodyV1, _ reading: inout EventReading) -> EnclosedReceipt {
        guard let data = body.receiptData else { return .absent }
        return switch reading.verify(receipt: data) {
        case .valid(let receipt): .verified(receipt)
        case .invalid(let rejection): .refused(rejection)
        }
    }

    static func meaning(type: String?, subtype: String?) -> String? {
        guard let type else { return nil }
        let known = NotificationV1Meaning.of(NotificationTypeV1(rawValue: type))
        let summary = known?.summary ?? "not in the table of this version: what it says of charges and renewals is merged, nothing else"
        return "\(type): \(summary)"
    }
}

/// The renewal that a notification V1 is about, read from every place where the versions of the format put it.
private struct NotificationV1Renewal {
    /// Nil when the notification may mean several contracts.
    let contract: String?
    let productID: String?
    private let autoRenewStatus: AutoRenewStatus?
    let gracePeriodExpiresDate: Timestamp?
    private let consentStatus: PriceIncreaseStatus?

    init(of body: ResponseBodyV1, among renewals: [V1RenewalFact]) {
        let candidates = Self.candidates(for: body, among: renewals)
        let renewal = candidates.first?.renewal
        let isOnly = candidates.count == 1
        contract = body.originalTransactionID ?? (isOnly ? candidates.first?.contract.id : nil)
        productID = isOnly ? renewal?.productID ?? renewal?.autoRenewProductID : body.autoRenewProductID
        autoRenewStatus = body.autoRenewStatus ?? renewal?.autoRenewStatus
        gracePeriodExpiresDate = body.gracePeriodExpiresDate ?? renewal?.gracePeriodExpiresDate
        consentStatus = body.priceConsentStatus ?? renewal?.priceIncreaseStatus ?? renewal?.priceConsentStatus
    }

    /// What happened; nil for a type that says nothing beyond its receipt, and where the body does not tell which of two effects it is.
    func effect(of type: NotificationTypeV1?) -> EffectKind? {
        switch type {
        case .didFailToRenew: gracePeriodExpiresDate == nil ? .billingRetryStarted : .gracePeriodStarted
        case .didChangeRenewalStatus: autoRenewStatus.map { $0 == .on ? .willRenew : .willNotRenew }
        case .didChangeRenewalPref: .planChanged
        case .priceIncreaseConsent:
            consentStatus == .customerConsentedOrWasNotifiedWithoutNeedingConsent ? .consentGiven : .consentAsked
        case .consumptionRequest: .consumptionAsked
        default: nil
        }
    }

    /// The renewals of the contract that the body names. Without a named contract: all, narrowed by the named plan and by a failed charge.
    private static func candidates(for body: ResponseBodyV1, among renewals: [V1RenewalFact]) -> [V1RenewalFact] {
        if let id = body.originalTransactionID { return renewals.filter { $0.contract.id == id } }
        var candidates = renewals
        func narrow(_ matches: (PendingRenewalInfo) -> Bool) {
            let matching = candidates.filter { matches($0.renewal) }
            if !matching.isEmpty { candidates = matching }
        }
        if let product = body.autoRenewProductID { narrow { $0.autoRenewProductID == product } }
        if body.notificationType == .didFailToRenew { narrow { $0.isInBillingRetryPeriod == true } }
        return candidates
    }
}

/// What a type of notification V1 means for the ledger. Charges and refunds come from the receipt, whatever the type.
package struct NotificationV1Meaning: Sendable {
    package let type: NotificationTypeV1
    /// What may have happened beyond what the receipt says. The state of the renewal selects one of these; one effect for each content.
    package let lifecycle: [EffectKind]
    /// The meaning as text for operators.
    package let summary: String

    private init(_ type: NotificationTypeV1, _ lifecycle: [EffectKind], _ summary: String) {
        self.type = type
        self.lifecycle = lifecycle
        self.summary = summary
    }

    /// The meaning; nil for what Apple has not documented.
    package static func of(_ type: NotificationTypeV1?) -> NotificationV1Meaning? { type.flatMap { byType[$0] } }

    private static let byType = Dictionary(uniqueKeysWithValues: all.map { ($0.type, $0) })
}

extension NotificationV1Meaning {
    // swift-format-ignore
    /// Everything that Apple documents: a table to be read by columns.
    package static let all: [NotificationV1Meaning] = [
        //    type                     effects                                     what it means for the ledger
        .init(.initialBuy,             [],                                         "its order is paid, the contract begins"),
        .init(.didRenew,               [],                                         "an order of its own is paid"),
        .init(.interactiveRenewal,     [],                                         "an order is paid: renewed by hand, or another plan at once"),
        .init(.didRecover,             [],                                         "an order is paid, for a charge that had failed"),
        .init(.renewal,                [],                                         "the same, as it was called until 2021"),
        .init(.didFailToRenew,         [.gracePeriodStarted, .billingRetryStarted], "a charge failed: access stays for a grace period, or ends"),
        .init(.didChangeRenewalStatus, [.willRenew, .willNotRenew],                "renewal was turned on or off; access stays to the end"),
        .init(.didChangeRenewalPref,   [.planChanged],                             "another plan, at once or from the next renewal on"),
        .init(.priceIncreaseConsent,   [.consentAsked, .consentGiven],             "the customer is asked for consent to a higher price"),
        .init(.cancel,                 [],                                         "a subscription was refunded, or replaced by an upgrade"),
        .init(.refund,                 [],                                         "a charge was refunded"),
        .init(.revoke,                 [],                                         "family sharing ended: this member's access ends"),
        .init(.consumptionRequest,     [.consumptionAsked],                        "Apple asks before it decides on a refund: 12 hours"),
    ]
}
