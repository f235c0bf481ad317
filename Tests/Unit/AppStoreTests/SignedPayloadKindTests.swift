import AppStore
import StrictJSON
import Testing

struct SignedPayloadKindTests {
    static let payloads: [(SignedPayloadKind, JSONObject)] = [
        (.notification, SamplePayload.notification), (.transaction, SamplePayload.transaction), (.renewalInfo, SamplePayload.renewalInfo),
        (.appTransaction, SamplePayload.appTransaction),
    ]

    @Test(arguments: payloads)
    func `the members of a payload determine its kind`(kind: SignedPayloadKind, json: JSONObject) {
        #expect(SignedPayloadKind.of(json) == kind)
    }

    @Test(
        arguments: [
            (["notificationType": "TEST", "notificationUUID": "u"], .notification),
            (["transactionId": "1", "originalTransactionId": "1"], .transaction),
            (["autoRenewStatus": 0, "originalTransactionId": "1"], .renewalInfo),
            (["autoRenewProductId": "p", "originalTransactionId": "1"], .renewalInfo),
            (["receiptType": "Sandbox"], .appTransaction),
            (["transactionId": "1", "originalTransactionId": "1", "autoRenewStatus": .null, "notificationType": .null], .transaction),
        ] as [(JSONObject, SignedPayloadKind)]
    )
    func `the required members of a kind suffice`(json: JSONObject, kind: SignedPayloadKind) {
        #expect(SignedPayloadKind.of(json) == kind)
    }

    @Test(
        arguments: [
            [:], ["notificationType": "TEST"], ["notificationUUID": "u"], ["notificationType": "TEST", "notificationUUID": .null],
            ["transactionId": "1"],
            ["originalTransactionId": "1"], ["autoRenewStatus": 1], ["originalApplicationVersion": "1"],
            ["bundleId": "b", "signedDate": 1],
            ["receiptType": "Sandbox", "originalTransactionId": "1"],
            [
                "originalTransactionId": "1", "appAppleId": 1, "productId": "p", "userLocale": "en", "requestIdentifier": "r",
                "signedDate": 1,
            ],
        ] as [JSONObject]
    )
    func `a payload without the required members has no kind`(json: JSONObject) {
        #expect(SignedPayloadKind.of(json) == nil)
    }

    @Test func `a payload with members of two kinds has no kind`() {
        for (kind, json) in Self.payloads {
            for (other, otherJSON) in Self.payloads where other != kind {
                let union = JSONObject((json.members + otherJSON.members).map { ($0.name, $0.value) })
                #expect(SignedPayloadKind.of(union) == nil, "\(kind) with \(other)")
            }
        }
    }
}
