import AppStore
import Testing

struct ResponseBodyV1Tests {
    @Test func `all documented types are known and others are kept`() throws {
        #expect(Set(NotificationTypeV1.documented).count == 13)
        #expect(try ResponseBodyV1(["notification_type": "NEW"]).notificationType?.rawValue == "NEW")
    }

    @Test(arguments: [("true", AutoRenewStatus.on), ("false", .off), ("1", .on), ("0", .off)])
    func `auto_renew_status is a word or a digit`(text: String, status: AutoRenewStatus) throws {
        #expect(try ResponseBodyV1(["auto_renew_status": .string(text)]).autoRenewStatus == status)
    }

    @Test(arguments: [("PROD", AppStoreEnvironment.production), ("Production", .production), ("Sandbox", .sandbox)])
    func `the environment has two names for production`(name: String, environment: AppStoreEnvironment) throws {
        #expect(try ResponseBodyV1(["environment": .string(name)]).environment == environment)
        #expect(try ResponseBodyV1(["unified_receipt": ["environment": .string(name)]]).environment == environment)
    }

    /// As in 2017, before the unified receipt: one object with the transaction, dates in three members, milliseconds in `expires_date`.
    @Test func `a body of the first years is read`() throws {
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

    @Test func `a body with a unified receipt names its contracts there, each once`() throws {
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
        #expect(body.unifiedReceipt?.status == nil && body.receiptData == "MII=")
        #expect(body.autoRenewStatusChangeDate?.millisecondsSince1970 == 1_574_275_890_000)
    }

    @Test func `the password is decoded nowhere`() {
        #expect(!ResponseBodyV1.knownMembers.contains("password"))
    }
}
