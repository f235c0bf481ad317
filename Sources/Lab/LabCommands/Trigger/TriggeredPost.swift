import AppStore
import StoreSimulator
import StrictJSON

/// What `trigger` posts.
struct TriggeredPost {
    /// The type as the caller named it.
    let kind: String
    let notification: SimulatedNotification
    let body: [UInt8]
    /// A part of the event's body in the inbox, which no other event has.
    let mark: [UInt8]
    let kindOfBody: NotificationV1Body.Kind

    private init(
        _ kind: String,
        _ notification: SimulatedNotification,
        body: [UInt8],
        mark: [UInt8],
        as kindOfBody: NotificationV1Body.Kind = .notificationV2
    ) {
        self.kind = kind
        self.notification = notification
        self.body = body
        self.mark = mark
        self.kindOfBody = kindOfBody
    }

    /// A notification V2.
    init(_ kind: String, _ notification: SimulatedNotification, _ signer: NotificationSigner, isForged: Bool) throws(SimulationError) {
        let signed = isForged ? try signer.forge(notification, .payloadAltered) : try signer.sign(notification)
        self.init(kind, signed.notification, body: signed.body, mark: signed.body)
    }

    /// A notification V1 with the app's shared secret. Its receipt holds the charge that it is about.
    init(_ kind: String, _ notification: SimulatedNotification, _ signer: ReceiptSigner, secret: String) throws(SimulationError) {
        let answer = try VerifyReceiptAnswer(after: notification, holding: [notification.transaction].compactMap(\.self), signedBy: signer)
        var posted = SimulatedNotificationV1(type: NotificationTypeV1(rawValue: kind), password: secret, answer: answer)
        if posted.type == .didChangeRenewalStatus { posted.autoRenewStatusChangeDate = notification.signedDate }
        self.init(kind, notification, body: JSONSerializer.serialize(posted.body), mark: Self.receipt(in: answer), as: .notificationV1)
    }

    /// The receipt that holds the charge of a notification, as an app's backend posts it for a user.
    init(_ kind: String, _ notification: SimulatedNotification, _ signer: ReceiptSigner, user: String) throws(SimulationError) {
        let answer = try VerifyReceiptAnswer(after: notification, holding: [notification.transaction].compactMap(\.self), signedBy: signer)
        let receipt = Self.receipt(in: answer)
        let body: JSONObject = [
            "receiptData": .string(String(decoding: receipt, as: UTF8.self)), "user": .string(user),
            "transactionId": .optional(notification.transactionID),
        ]
        self.init(kind, notification, body: JSONSerializer.serialize(body), mark: receipt)
    }

    private static func receipt(in answer: VerifyReceiptAnswer) -> [UInt8] { Array((answer.latestReceipt ?? "").utf8) }
}
