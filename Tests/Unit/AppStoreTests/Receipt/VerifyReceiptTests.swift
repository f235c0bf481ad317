import AppStore
import StrictJSON
import Testing

struct VerifyReceiptTests {
    @Test(
        arguments: [
            (0, false, .accept), (21000, false, .giveUp), (21001, false, .giveUp), (21002, false, .retry(atMost: 2)),
            (21003, true, .giveUp), (21004, false, .giveUp), (21005, false, .retry(atMost: nil)), (21006, false, .accept),
            (21007, false, .askSandbox), (21008, false, .askProduction), (21009, false, .retry(atMost: nil)), (21010, false, .giveUp),
            (21100, true, .retry(atMost: nil)), (21199, true, .retry(atMost: nil)), (21150, false, .giveUp), (21200, true, .giveUp),
            (99, true, .giveUp),
        ] as [(Int32, Bool, VerifyReceiptStatus.Reaction)]
    ) func `each status has its reaction`(status: Int32, isRetryable: Bool, reaction: VerifyReceiptStatus.Reaction) {
        #expect(VerifyReceiptStatus(rawValue: status).reaction(isRetryable: isRetryable) == reaction)
    }

    @Test(arguments: ["true", "1", #""1""#, #""true""#]) func `is-retryable may be a flag or a number`(value: String) throws {
        let json = try JSONParser().parseObject(Array(#"{"status": 21104, "is-retryable": \#(value)}"#.utf8))
        #expect(try VerifyReceiptResponse(json).reaction == .retry(atMost: nil))
    }

    @Test func `an answer with strings for numbers is decoded`() throws {
        let response = try VerifyReceiptResponse(
            [
                "status": 0, "environment": "Sandbox", "latest_receipt": "MII=",
                "receipt": [
                    "receipt_type": "ProductionSandbox", "bundle_id": "com.example.app", "app_item_id": 0, "application_version": 3,
                    "receipt_creation_date": "2020-05-06 18:28:49 Etc/GMT", "request_date_ms": "1588789729123",
                    "in_app": [["transaction_id": "1", "cancellation_date_ms": "1588789729000", "expires_date": ""]],
                ],
                "latest_receipt_info": [["transaction_id": 2, "is_upgraded": "true", "quantity": "1", "expires_date": "1588789729000"]],
                "pending_renewal_info": [["auto_renew_status": "1", "expiration_intent": "2", "is_in_billing_retry_period": "0"]],
            ]
        )
        #expect(response.reaction == .accept && response.environment == .sandbox)
        #expect(response.receipt?.creationDate?.millisecondsSince1970 == 1_588_789_729_000)
        #expect(response.receipt?.requestDate?.millisecondsSince1970 == 1_588_789_729_123)
        #expect(response.receipt?.inApp.first?.cancellationDate?.millisecondsSince1970 == 1_588_789_729_000)
        #expect(response.receipt?.inApp.first?.expiresDate == nil)
        #expect(response.latestReceiptInfo.first?.transactionID == "2" && response.latestReceiptInfo.first?.isUpgraded == true)
        #expect(response.latestReceiptInfo.first?.expiresDate?.millisecondsSince1970 == 1_588_789_729_000)
        #expect(response.pendingRenewalInfo.first?.autoRenewStatus == .on)
        #expect(response.pendingRenewalInfo.first?.expirationIntent == .billingError)
        #expect(response.pendingRenewalInfo.first?.isInBillingRetryPeriod == false)
    }

    @Test(arguments: [
        "app_item_id", "original_purchase_date", "original_purchase_date_ms", "expiration_date", "expiration_date_ms",
        "application_version",
        "original_application_version", "adam_id", "download_id", "version_external_identifier",
    ])
    func `an unused member cannot make an answer unreadable`(member: String) throws {
        for value: JSONValue in ["soon", ["x"], ["x": 1], .bool(true), "99999999999999999999"] {
            var receipt: JSONObject = ["bundle_id": "com.example.app", "request_date_ms": "1588789729123"]
            receipt[member] = value
            let response = try VerifyReceiptResponse(["status": 0, "receipt": .object(receipt)])
            #expect(response.receipt?.bundleID == "com.example.app")
            #expect(response.receipt?.requestDate?.millisecondsSince1970 == 1_588_789_729_123)
        }
    }

    @Test(
        arguments: [
            (["latest_receipt_info": [["expires_date_ms": "soon"]]], "latest_receipt_info[0].expires_date_ms"),
            (["latest_receipt_info": [1]], "latest_receipt_info[0]"), (["receipt": ["in_app": "none"]], "receipt.in_app"),
            (["receipt": ["request_date": "soon"]], "receipt.request_date"), (["receipt": ["bundle_id": true]], "receipt.bundle_id"),
            // The date is used in an iOS 6 style purchase.
            (["receipt": ["transaction_id": "1", "original_purchase_date": "soon"]], "receipt.original_purchase_date"),
            (["pending_renewal_info": [["auto_renew_status": "2"]]], "pending_renewal_info[0].auto_renew_status"),
            (["status": "x"], "status"),
            (["latest_receipt_info": [["cancellation_date": "yesterday"]]], "latest_receipt_info[0].cancellation_date"),
        ] as [(JSONObject, String)]
    ) func `an unreadable member is named without its value`(json: JSONObject, path: String) {
        let error = #expect(throws: MalformedPayload.self) { try VerifyReceiptResponse(json) }
        #expect(error?.path == path)
    }
}
