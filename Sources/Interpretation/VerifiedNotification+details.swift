import AppStore
import AppStoreVerification
import FoundationEssentials
import Ledger
import StrictJSON

/// What an effect tells beside its charge and contract.
extension VerifiedNotification {
    /// The details of an effect of this kind; nil where it has none. Members that the notification lacks are left out.
    func details(of kind: EffectKind) -> JSONObject? {
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
    func unreadableDetail(of kind: EffectKind) -> String? {
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
