import AppStore
import StrictJSON
import Testing

struct ResponseBodyV1Tests {
    @Test func `documented types are known and other types are kept`() throws {
        #expect(Set(NotificationTypeV1.documented).count == 13)
        #expect(try ResponseBodyV1(["notification_type": "NEW"]).notificationType?.rawValue == "NEW")
    }

    @Test(arguments: [("true", AutoRenewStatus.on), ("false", .off), ("1", .on), ("0", .off)])
    func `auto_renew_status is true, false or a digit`(text: String, status: AutoRenewStatus) throws {
        #expect(try ResponseBodyV1(["auto_renew_status": .string(text)]).autoRenewStatus == status)
    }

    @Test(arguments: [("PROD", AppStoreEnvironment.production), ("Production", .production), ("Sandbox", .sandbox)])
    func `the environment has two names for production`(name: String, environment: AppStoreEnvironment) throws {
        #expect(try ResponseBodyV1(["environment": .string(name)]).environment == environment)
        #expect(try ResponseBodyV1(["unified_receipt": ["environment": .string(name)]]).environment == environment)
    }

    /// The format of 2017, before the unified receipt: one transaction, dates in three members, milliseconds in `expires_date`.
    @Test func `a body in the format of 2017 is decoded`() throws {
        let body = try ResponseBodyV1(
            [
                "notification_type": "RENEWAL", "environment": "PROD", "latest_receipt": "ewo=", "auto_renew_status": "true",
                "latest_receipt_info": [
                    "original_transaction_id": "320000608927590", "transaction_id": "320000608927590", "bid": "com.example.app",
                    "expires_date": "1576864434000", "expires_date_formatted": "2019-12-20 17:53:54 Etc/GMT",
                    "purchase_date": "2019-11-20 17:53:54 Etc/GMT", "purchase_date_ms": "1574272434000", "quantity": "1",
                    "is_trial_period": "false", "item_id": "1449117962", "unique_identifier": "0a60",
                ],
            ]
        )
        #expect(body.originalTransactionID == nil && body.originalTransactionIDs == ["320000608927590"])
        #expect(body.transactions.first?.expiresDate?.millisecondsSince1970 == 1_576_864_434_000)
        #expect(body.transactions.first?.bundleID == "com.example.app" && body.receiptData == "ewo=")
    }

    /// Otherwise the secret of one app would authenticate claims about another app.
    @Test(
        arguments: [
            #"{"bid":"a","latest_receipt_info":{"bid":"b"}}"#, #"{"latest_receipt_info":{"bid":"b"}}"#, #"{"bid":7}"#, #"{"bid":""}"#,
            #"{"latest_expired_receipt_info":{"bid":"a"},"latest_receipt_info":{"bid":"b"}}"#, #"{"latest_receipt_info":[{"bid":"b"}]}"#,
            #"{"latest_receipt_info":{"bid":""},"latest_expired_receipt_info":{"bid":"a"}}"#, #"{"latest_receipt_info":{"bid":7}}"#,
            #"{"unified_receipt":{"bid":"a","latest_receipt_info":[{"bid":"b"}]}}"#, #"{"\u0062id":"a"}"#,
        ]
    ) func `the app is the one whose secret was compared`(members: String) throws {
        let text = #"{"notification_type":"CANCEL","# + members.dropFirst()
        let body = try ResponseBodyV1(decoding: JSONParser().parseObject(Array(text.utf8)))
        #expect(try body.vouchedBundleID == NotificationV1Body(Array(text.utf8)).bundleID)
    }

    @Test func `the contracts of a unified receipt are listed once each`() throws {
        let body = try ResponseBodyV1(
            [
                "notification_type": "DID_CHANGE_RENEWAL_PREF", "auto_renew_status_change_date_ms": "1574275890000",
                "unified_receipt": [
                    "status": "OK", "latest_receipt": "MII=", "environment": "Production",
                    "latest_receipt_info": [["original_transaction_id": "2"], ["original_transaction_id": 3]],
                    "pending_renewal_info": [["original_transaction_id": "1"], ["original_transaction_id": "2"]],
                ],
            ]
        )
        #expect(body.originalTransactionIDs == ["1", "2", "3"])
        #expect(body.receiptData == "MII=")
        #expect(body.autoRenewStatusChangeDate?.millisecondsSince1970 == 1_574_275_890_000)
    }

    @Test(arguments: ["cancellation_date", "cancellation_date_ms", "web_order_line_item_id", "adam_id", "app_item_id", "deprecation"])
    func `an unused member cannot make a notification unreadable`(member: String) throws {
        for value: JSONValue in ["soon", ["x"], ["x": 1], .bool(true), "99999999999999999999"] {
            var json: JSONObject = ["notification_type": "CANCEL", "unified_receipt": ["latest_receipt": "MII=", "status": value]]
            json[member] = value
            let body = try ResponseBodyV1(json)
            #expect(body.notificationType == .cancel && body.receiptData == "MII=")
        }
    }

    @Test(
        arguments: [
            (["auto_renew_status": "2"], "auto_renew_status"),
            (["auto_renew_status_change_date_ms": "soon"], "auto_renew_status_change_date_ms"),
            (["grace_period_expires_date": "soon"], "grace_period_expires_date"), (["bid": true], "bid"),
            (["unified_receipt": ["pending_renewal_info": [1]]], "unified_receipt.pending_renewal_info[0]"),
        ] as [(JSONObject, String)]
    ) func `an unreadable used member is refused with its path`(json: JSONObject, path: String) {
        let error = #expect(throws: MalformedPayload.self) { try ResponseBodyV1(json) }
        #expect(error?.path == path)
    }

    @Test func `the password is never decoded`() {
        #expect(!ResponseBodyV1.knownMembers.contains("password"))
    }
}
