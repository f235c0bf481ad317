package import FoundationEssentials
package import StrictJSON

/// The seats that Apple took from a group whose invitations the developer manages; Apple's page
/// `appstoreservernotifications/unclaiminfo`.
package struct UnclaimInfo: PayloadObject {
    /// The `seatClaimId` of each seat; the member to which the developer assigned it loses access.
    package let unclaimSeatIds: [UUID]?
    /// Apple does not say whether this object has the environment, or one of the two members after it.
    package let environment: AppStoreEnvironment?
    package let bundleId: String?
    package let appAppleId: Int64?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case unclaimSeatIds, environment, bundleId, appAppleId
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        unclaimSeatIds = members.uuids(.unclaimSeatIds)
        environment = members.value(.environment)
        bundleId = members.string(.bundleId)
        appAppleId = members.numericIdentifier(.appAppleId)
        odd = members.odd
        unknown = members.unknown
    }
}
