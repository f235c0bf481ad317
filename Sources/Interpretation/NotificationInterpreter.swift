import AppStore
package import AppStoreVerification
import FoundationEssentials
package import Ledger
import StrictJSON

/// Turns a verified notification into facts and effects. Pure.
package enum NotificationInterpreter {
    package static func facts(of verified: VerifiedNotification, eventID: Int64) -> EventFacts {
        let notification = verified.notification.value
        let environment = verified.environment
        let uuid = notification.notificationUUID.map { UUID(notification: $0) }
        var facts = EventFacts(eventID: eventID, environment: environment, notificationUUID: uuid)
        // Without its subtype, a notification may mean something else.
        let isNamed = notification.odd.first(at: ["notificationType", "subtype"]) == nil
        let meaning = isNamed ? NotificationMeaning.of(notification.notificationType, notification.subtype) : nil
        if meaning == nil { facts.unhandledReason = "unknown_notification" }
        if let signed = verified.transaction { facts.add(signed) }
        if let member = verified.unreadable { facts.unhandledReason = EventRefusal.unreadableReason(member) }
        facts.subscription = subscription(of: verified)
        facts.externalPurchaseToken = ExternalPurchaseTokenFact(verified)
        if let signed = verified.appTransaction { facts.add(signed, bundleID: verified.bundleID) }
        if meaning != nil {
            facts.refundStatement = RefundRequestFact(verified, key: facts.notificationKey, transaction: facts.transaction)
        }
        if let kind = meaning?.lifecycle(beside: notification.data?.status), let uuid {
            // An effect is written once: one without its contract or its details would never get them.
            if let member = verified.unreadableDetail(of: kind) {
                facts.unhandledReason = EventRefusal.unreadableReason(member)
            } else if verified.contract != nil || verified.unreadable == nil {
                facts.effects.append(lifecycle(kind, uuid: uuid, of: verified, transaction: facts.transaction))
            }
        }
        return facts
    }

    /// Renewal info and status; nil when the notification has neither.
    private static func subscription(of verified: VerifiedNotification) -> SubscriptionFact? {
        let status = verified.notification.value.data?.status
        guard verified.renewalInfo != nil || status != nil, let contract = verified.contract else { return nil }
        let dated = verified.renewalInfo.map { ($0.signedDate, $0.payloadHash) }
        let (signedDate, hash) = dated ?? (verified.notification.signedDate, verified.notification.payloadHash)
        let isComplete = verified.renewalInfo?.odd.isEmpty ?? true && verified.notification.value.odd.first(at: ["data.status"]) == nil
        return SubscriptionFact(
            key: LedgerKey(environment: verified.environment, id: contract),
            signedDate: signedDate,
            hash: isComplete ? hash : Version.hashBelow(hash),
            status: status,
            renewalInfo: verified.renewalInfo?.value
        )
    }

    /// What happened beyond the charge: one effect for each notificationUUID.
    private static func lifecycle(
        _ kind: EffectKind,
        uuid: UUID,
        of verified: VerifiedNotification,
        transaction: TransactionFact?
    ) -> Effect {
        Effect(
            key: EffectKey(environment: verified.environment, kind: kind, notification: uuid),
            occurredAt: verified.notification.signedDate,
            originalTransactionID: verified.contract,
            transactionID: transaction?.key.id,
            productID: transaction?.productID ?? verified.renewalInfo?.value.productId ?? verified.notification.value.summary?.productId,
            gracePeriodExpiresDate: kind == .gracePeriodStarted ? verified.renewalInfo?.value.gracePeriodExpiresDate : nil,
            bundleID: transaction?.payload.bundleId == nil ? verified.bundleID : nil,
            details: verified.details(of: kind)
        )
    }
}

extension NotificationInterpreter: EventInterpreter {
    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts {
        let (event, verifier) = (reading.event, reading.reader.verifier)
        let jws = try reading.decoded { () throws(NotificationBody.Refusal) in try NotificationBody.signedPayload(in: event.body) }
        reading.jws = jws
        let notification = try reading.accepted(
            verifier.verifyNotification(jws, receivedAt: event.readAt, diagnostics: reading.diagnostics)
        )
        return facts(of: notification, eventID: event.id)
    }

    static func meaning(type: String?, subtype: String?) -> String? {
        guard let type else { return nil }
        let known = NotificationMeaning.of(NotificationTypeV2(rawValue: type), subtype.map(Subtype.init(rawValue:)))
        let summary = known?.summary ?? "not in the table of this version: what it says of charge and renewal is merged, nothing else"
        return "\(type)\(subtype.map { "/\($0)" } ?? ""): \(summary)"
    }
}

extension VerifiedNotification {
    /// Members that the ledger needs, unless they are absent.
    private static let needed: Set<String> = [
        "notificationType", "subtype", "notificationUUID", "data", "data.signedTransactionInfo", "data.signedRenewalInfo", "data.status",
        "appData", "appData.signedAppTransactionInfo",
    ]

    /// The first member that is needed and cannot be read; parts without it are left out.
    fileprivate var unreadable: String? { unreadableParts.first ?? notification.value.odd.first(at: Self.needed) }

    /// The originalTransactionId, on which transaction and renewal info agree.
    package var contract: String? {
        transaction?.value.originalTransactionId ?? renewalInfo?.value.originalTransactionId
    }
}

extension EventFacts {
    /// Adds a verified transaction and its effects, or the member that it lacks.
    mutating func add(_ signed: SignedValue<JWSTransactionDecodedPayload>) {
        if let member = signed.unreadable {
            unhandledReason = EventRefusal.unreadableReason(member)
            if signed.isUnusable { return }
        }
        do {
            let hash = signed.odd.isEmpty ? signed.payloadHash : Version.hashBelow(signed.payloadHash)
            let version = Version(signedDate: signed.signedDate, hash: hash)
            let fact = try TransactionFact(signed.value, environment: environment, version: version)
            transaction = fact
            effects += fact.effects
        } catch {
            unhandledReason = "incomplete_transaction:\(error.missing)"
        }
    }
}

extension SignedValue<JWSTransactionDecodedPayload> {
    /// Members without which it would be another purchase, a paid one, or one that was never refunded.
    private static let decisive = Set(
        [
            JWSTransactionDecodedPayload.Member.transactionId, .originalTransactionId, .webOrderLineItemId, .bundleId, .productId,
            .purchaseDate, .revocationDate, .revocationPercentage, .inAppOwnershipType,
        ].map { "transaction.\($0.rawValue)" }
    )

    /// Whether a member that decides what it is was given and cannot be read.
    fileprivate var isUnusable: Bool { odd.contains(where: Self.decisive.contains) }

    /// The member of it that the ledger needs, was given, and cannot be read.
    fileprivate var unreadable: String? {
        odd.first(where: Self.decisive.contains) ?? odd.first { $0 == "transaction.expiresDate" }
    }
}

/// What an effect tells beside its charge and contract.
extension VerifiedNotification {
    /// The details of an effect of this kind; nil where it has none. Members that the notification lacks are left out.
    fileprivate func details(of kind: EffectKind) -> JSONObject? {
        let notification = notification.value
        var details = JSONObject()
        switch kind {
        case .seatsUnclaimed:
            details["seat_claim_ids"] = notification.unclaimInfo?.unclaimSeatIds.map { .strings($0.map { $0.uuidString.lowercased() }) }
        case .seatsChanged:
            details["subtype"] = notification.subtype.map { .string($0.rawValue) }
            details["renewal_quantity"] = (renewalInfo?.value.renewalQuantity).map { .integer($0) }
        case .consentRescinded:
            details["app_transaction_id"] = (appTransaction?.value.appTransactionId).map { .string($0) }
        case .externalPurchaseToken:
            details = notification.externalPurchaseToken?.details ?? details
            details["subtype"] = notification.subtype.map { .string($0.rawValue) }
        case .migrated:
            details["previous_original_transaction_id"] = (transaction?.value.previousOriginalTransactionId).map { .string($0) }
        case .extensionCompleted: details = notification.summary?.details ?? details
        default: break
        }
        return details.members.isEmpty ? nil : details
    }

    /// The first member that these details need, was given, and cannot be read.
    fileprivate func unreadableDetail(of kind: EffectKind) -> String? {
        guard let places = Self.placesOfDetails[kind] else { return nil }
        return odd.first(where: places.contains)
    }

    /// Where the details of each kind are, the objects around them included.
    private static let placesOfDetails: [EffectKind: Set<String>] = [
        .seatsUnclaimed: ["unclaimInfo", "unclaimInfo.unclaimSeatIds", "unclaimInfo.unclaimSeatIds[]"],
        .seatsChanged: ["renewalInfo.renewalQuantity"],
        .consentRescinded: ["appData", "appData.signedAppTransactionInfo", "appTransaction.appTransactionId"],
        .externalPurchaseToken: [
            "externalPurchaseToken", "externalPurchaseToken.tokenType", "externalPurchaseToken.tokenCreationDate",
            "externalPurchaseToken.tokenExpirationDate",
        ],
        .migrated: ["transaction.previousOriginalTransactionId"],
        .extensionCompleted: [
            "summary", "summary.requestIdentifier", "summary.productId", "summary.storefrontCountryCodes",
            "summary.storefrontCountryCodes[]", "summary.succeededCount", "summary.failedCount",
        ],
    ]
}

extension ExternalPurchaseToken {
    /// Apple reports a token that is not reported ten days after it was created, and soon after a token of a custom link expires
    /// (externalpurchaseserverapi/reportwithouttransactions).
    private static let reportingTime = Duration.seconds(10 * 86_400)

    /// `report_by` is when Apple begins to complain. The deadline that a contract or a law sets may be another one.
    fileprivate var details: JSONObject {
        var details = JSONObject()
        let reportBy = tokenExpirationDate ?? tokenCreationDate?.advanced(by: Self.reportingTime)
        details["id"] = externalPurchaseId.map { .string($0) }
        details["type"] = tokenType.map { .string($0.rawValue) }
        details["created_at"] = tokenCreationDate.map { .string($0.description) }
        details["expires_at"] = tokenExpirationDate.map { .string($0.description) }
        details["report_by"] = reportBy.map { .string($0.description) }
        return details
    }
}

extension Summary {
    fileprivate var details: JSONObject {
        var details = JSONObject()
        details["request_identifier"] = requestIdentifier.map { .string($0) }
        details["product_id"] = productId.map { .string($0) }
        details["storefronts"] = storefrontCountryCodes.map { .strings($0) }
        details["succeeded"] = succeededCount.map { .integer($0) }
        details["failed"] = failedCount.map { .integer($0) }
        return details
    }
}

extension JSONValue {
    fileprivate static func strings(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }
}

extension RefundRequestFact {
    private static let kinds: [NotificationTypeV2: Kind] = [
        .consumptionRequest: .asked, .refund: .refunded, .refundDeclined: .declined, .refundReversed: .reversed,
    ]

    /// What the notification says about the refund of the charge; nil when it concerns something else.
    fileprivate init?(_ verified: VerifiedNotification, key: NotificationKey?, transaction: TransactionFact?) {
        let notification = verified.notification.value
        guard let transaction, let key, let kind = notification.notificationType.flatMap({ Self.kinds[$0] }) else { return nil }
        self.init(
            kind,
            key: key,
            of: transaction,
            reason: kind == .asked ? notification.data?.consumptionRequestReason?.rawValue : nil,
            signedDate: verified.notification.signedDate,
            isAdvancedCommerce: verified.transaction?.value.isAdvancedCommerce ?? false
        )
    }
}

extension ExternalPurchaseTokenFact {
    /// Nil for a notification of another type, and without the identifier by which a token is known.
    fileprivate init?(_ verified: VerifiedNotification) {
        let notification = verified.notification.value
        guard let token = notification.externalPurchaseToken, let id = token.externalPurchaseId, let bundleID = verified.bundleID else {
            return nil
        }
        let hash = verified.notification.payloadHash
        self.init(
            key: LedgerKey(environment: verified.environment, id: id),
            version: Version(signedDate: verified.notification.signedDate, hash: notification.odd.isEmpty ? hash : Version.hashBelow(hash)),
            bundleID: bundleID,
            token: token,
            subtype: notification.subtype
        )
    }
}
