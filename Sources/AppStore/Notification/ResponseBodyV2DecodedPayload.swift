package import StrictJSON

/// The payload of a notification V2.
///
/// Of `data`, `summary`, `externalPurchaseToken` and `appData` Apple sends at most one.
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

    package enum Member: String, CaseIterable {
        case notificationType, subtype, notificationUUID, version, signedDate, data, summary, externalPurchaseToken
        case appData
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        notificationType = try members.value(.notificationType)
        subtype = try members.value(.subtype)
        notificationUUID = try members.string(.notificationUUID)
        version = try members.string(.version)
        signedDate = try members.timestamp(.signedDate)
        data = try members.object(.data)
        summary = try members.object(.summary)
        externalPurchaseToken = try members.object(.externalPurchaseToken)
        appData = try members.object(.appData)
    }
}
