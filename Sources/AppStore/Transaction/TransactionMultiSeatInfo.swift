package import StrictJSON

/// The seats of a transaction for a subscription with several seats; Apple's page `appstoreserverapi/transactionmultiseatinfo`.
///
/// A member's transaction repeats that of the purchaser, without ``revokedSeatQuantity``.
package struct TransactionMultiSeatInfo: PayloadObject {
    package let invitationManagement: InvitationManagement?
    /// What the seats cost when they were bought, in no guaranteed order.
    package let priceTiers: [MultiSeatPriceTier]?
    /// The seats that refunds took from this transaction until now. The transaction is valid for the others.
    package let revokedSeatQuantity: Int32?
    /// What the seats cost together, in thousandths of the currency's unit; `nil` without tiers, or when one of them cannot be read.
    ///
    /// The `price` of the transaction is the average for one seat, rounded.
    package let total: Int64?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case invitationManagement, priceTiers, revokedSeatQuantity
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        invitationManagement = members.value(.invitationManagement)
        (priceTiers, total) = members.priceTiers(.priceTiers)
        revokedSeatQuantity = members.integer32(.revokedSeatQuantity)
        odd = members.odd
        unknown = members.unknown
    }
}

/// Who invites the members of a group.
package struct InvitationManagement: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Apple: each member has a transaction.
    package static let apple = InvitationManagement(rawValue: "APPLE")
    /// The developer, whose server records who has access: members have no transactions.
    package static let developer = InvitationManagement(rawValue: "DEVELOPER")

    package static let known: Set = [apple, developer]
}
