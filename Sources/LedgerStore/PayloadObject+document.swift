import AppStore
import Postgres
import StrictJSON

extension TransactionMultiSeatInfo {
    /// Its known members as Apple names them.
    var document: JSONText {
        JSONText(members: [
            ("invitationManagement", invitationManagement.map { .string($0.rawValue) }),
            ("priceTiers", priceTiers.map { .array($0.map(\.object)) }),
            ("revokedSeatQuantity", revokedSeatQuantity.map { .integer($0) }),
        ])
    }
}

extension TransactionCommitmentInfo {
    /// Its known members as Apple names them.
    var document: JSONText {
        JSONText(members: [
            ("billingPeriodNumber", billingPeriodNumber.map { .integer($0) }),
            ("totalBillingPeriods", totalBillingPeriods.map { .integer($0) }),
            ("commitmentExpiresDate", commitmentExpiresDate.map { .integer($0.millisecondsSince1970) }),
            ("commitmentPrice", commitmentPrice.map { .integer($0) }),
        ])
    }
}

extension RenewalCommitmentInfo {
    /// Its known members as Apple names them.
    var document: JSONText {
        JSONText(members: [
            ("commitmentAutoRenewProductId", commitmentAutoRenewProductId.map { .string($0) }),
            ("commitmentAutoRenewStatus", commitmentAutoRenewStatus.map { .integer($0.rawValue) }),
            ("commitmentRenewalBillingPlanType", commitmentRenewalBillingPlanType.map { .string($0.rawValue) }),
            ("commitmentRenewalDate", commitmentRenewalDate.map { .integer($0.millisecondsSince1970) }),
            ("commitmentRenewalPrice", commitmentRenewalPrice.map { .integer($0) }),
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
