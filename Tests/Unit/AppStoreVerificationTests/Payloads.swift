import AppStore
import StrictJSON

/// Minimal valid payloads; tests change single members.
enum Payloads {
    static let bundleID = "com.example.app"
    static let appAppleID: Int64 = 1_234_567

    static let transaction: JSONObject = [
        "transactionId": "2000", "originalTransactionId": "1000", "bundleId": .string(bundleID), "environment": "Production",
        "signedDate": .timestamp(TestStore.now),
    ]

    static let renewalInfo: JSONObject = [
        "originalTransactionId": "1000", "autoRenewStatus": 1, "autoRenewProductId": "monthly", "environment": "Production",
        "signedDate": .timestamp(TestStore.now),
    ]

    static let appTransaction: JSONObject = [
        "receiptType": "Production", "originalApplicationVersion": "1.0", "bundleId": .string(bundleID), "appAppleId": .integer(appAppleID),
        "receiptCreationDate": .timestamp(TestStore.now),
    ]

    static let data: JSONObject = [
        "environment": "Production", "bundleId": .string(bundleID), "appAppleId": .integer(appAppleID), "status": 1,
    ]

    /// A notification with `data`, or with another member instead.
    static func notification(_ member: String = "data", _ content: JSONObject = data) -> JSONObject {
        [
            "notificationType": "DID_RENEW", "notificationUUID": "b2b4a1a2-0000-4000-8000-000000000001", "version": "2.0",
            "signedDate": .timestamp(TestStore.now), .init(member): .object(content),
        ]
    }

    /// A notification with both nested JWS, signed by `store`.
    static func full(
        _ store: TestStore,
        transaction: JSONObject = transaction,
        renewalInfo: JSONObject = renewalInfo,
        data: JSONObject = data
    ) throws -> JSONObject {
        notification(
            "data",
            data.with("signedTransactionInfo", .string(try store.sign(transaction)))
                .with("signedRenewalInfo", .string(try store.sign(renewalInfo)))
        )
    }
}

extension JSONObject {
    /// A copy with a member set; nil removes it.
    func with(_ name: String, _ value: JSONValue?) -> JSONObject {
        var copy = self
        copy[name] = value
        return copy
    }
}
