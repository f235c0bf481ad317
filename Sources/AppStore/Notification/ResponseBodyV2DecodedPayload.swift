package import StrictJSON

/// The payload of a notification V2.
///
/// Of `data`, `summary`, `externalPurchaseToken` and `appData` Apple sends at most one; it does not say what accompanies `unclaimInfo`.
package struct ResponseBodyV2DecodedPayload: PayloadObject {
    package let notificationType: NotificationTypeV2?
    package let subtype: Subtype?
    /// The same in each delivery of this notification, and in no other one.
    package let notificationUUID: String?
    /// The version of this format, `2.0`.
    package let version: String?
    package let signedDate: Timestamp?
    package let data: NotificationData?
    package let summary: Summary?
    package let externalPurchaseToken: ExternalPurchaseToken?
    package let appData: AppData?
    package let unclaimInfo: UnclaimInfo?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case notificationType, subtype, notificationUUID, version, signedDate, data, summary, externalPurchaseToken
        case appData, unclaimInfo
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        notificationType = members.value(.notificationType)
        subtype = members.value(.subtype)
        notificationUUID = members.string(.notificationUUID)
        version = members.string(.version)
        signedDate = members.timestamp(.signedDate)
        data = members.object(.data)
        summary = members.object(.summary)
        externalPurchaseToken = members.object(.externalPurchaseToken)
        appData = members.object(.appData)
        unclaimInfo = members.object(.unclaimInfo)
        odd = members.odd
        unknown = members.unknown
    }
}
