import AppStore
import Testing

struct SignedPayloadKindTests {
    static let payloads: [(SignedPayloadKind, JSONObject)] = [
        (.notification, SamplePayload.notification), (.transaction, SamplePayload.transaction), (.renewalInfo, SamplePayload.renewalInfo),
        (.appTransaction, SamplePayload.appTransaction),
    ]

    @Test(arguments: payloads)
    func `a payload is of the kind that its members say`(kind: SignedPayloadKind, json: JSONObject) {
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
    func `the least that a kind needs is enough`(json: JSONObject, kind: SignedPayloadKind) {
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
    func `a payload that lacks what its kind needs is of no kind`(json: JSONObject) {
        #expect(SignedPayloadKind.of(json) == nil)
    }

    @Test func `members of two kinds together are of no kind`() {
        for (kind, json) in Self.payloads {
            for (other, otherJSON) in Self.payloads where other != kind {
                let union = JSONObject((json.members + otherJSON.members).map { ($0.name, $0.value) })
                #expect(SignedPayloadKind.of(union) == nil, "\(kind) with \(other)")
            }
        }
    }
}
