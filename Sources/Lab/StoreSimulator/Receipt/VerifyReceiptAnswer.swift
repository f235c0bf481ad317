package import AppStore
package import StrictJSON

/// The answer of verifyReceipt about a receipt.
package struct VerifyReceiptAnswer: Sendable {
    package var app: SimulatedApp
    /// The receipt in the request.
    package var receipt: AppReceipt
    /// The time of the request, and of everything in the answer except the receipt.
    package var requestDate: Timestamp
    /// The customer's current transactions; nil for a request without a shared secret, whose answer has neither these nor the renewals.
    package var transactions: [SimulatedTransaction]?
    package var renewals: [SimulatedRenewalInfo] = []
    /// The newest receipt, in base64.
    package var latestReceipt: String?

    package init(app: SimulatedApp, receipt: AppReceipt, requestDate: Timestamp, transactions: [SimulatedTransaction]?) {
        self.app = app
        self.receipt = receipt
        self.requestDate = requestDate
        self.transactions = transactions
    }

    /// An answer with only a status.
    package static func refusal(_ status: VerifyReceiptStatus, isRetryable: Bool? = nil) -> JSONObject {
        var json: JSONObject = ["status": .integer(status.rawValue)]
        json.add("is-retryable", isRetryable)
        return json
    }

    /// The answer with status 0, without the `…_pst` form of each date.
    package var json: JSONObject {
        var json: JSONObject = ["status": 0, "environment": .string(app.environment.rawValue), "receipt": .object(receiptContent)]
        addLatest(to: &json)
        return json
    }

    /// The `unified_receipt` of a notification V1, with at most a hundred transactions.
    package var unifiedReceipt: JSONObject {
        var json: JSONObject = ["status": 0, "environment": .string(app.environment.rawValue)]
        var recent = self
        recent.transactions = transactions.map { Array($0.sorted { $0.purchaseDate > $1.purchaseDate }.prefix(100)) }
        recent.addLatest(to: &json)
        return json
    }

    private var receiptContent: JSONObject {
        var json = JSONObject()
        json.add("receipt_type", receipt.receiptType?.rawValue)
        json.add("adam_id", receipt.appItemID ?? 0)
        json.add("app_item_id", receipt.appItemID ?? 0)
        json.add("bundle_id", receipt.bundleID)
        json.add("application_version", receipt.applicationVersion)
        json.add("download_id", receipt.downloadID ?? 0)
        json.add("version_external_identifier", receipt.versionExternalIdentifier ?? 0)
        json.addDate("receipt_creation_date", receipt.creationDate)
        json.addDate("request_date", requestDate)
        json.addDate("original_purchase_date", receipt.originalPurchaseDate)
        json.add("original_application_version", receipt.originalApplicationVersion)
        json.addDate("expiration_date", receipt.expirationDate)
        json["in_app"] = .array(receipt.purchases.map { .object($0.json) })
        return json
    }

    private func addLatest(to json: inout JSONObject) {
        guard let transactions else { return }
        json["latest_receipt_info"] = .array(transactions.map { .object($0.legacyPayload) })
        json.add("latest_receipt", latestReceipt)
        if !renewals.isEmpty { json["pending_renewal_info"] = .array(renewals.map { .object($0.legacyPayload) }) }
    }
}

extension JSONObject {
    /// Adds a date in both of verifyReceipt's forms: text in GMT, and milliseconds as a string.
    mutating func addDate(_ name: String, _ date: Timestamp?) {
        guard let date else { return }
        let text = "\(date)"
        self[name] = .string("\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) Etc/GMT")
        self["\(name)_ms"] = .string(String(date.millisecondsSince1970))
    }

    /// Adds a flag as verifyReceipt writes it, `"true"` or `"false"`.
    mutating func addFlag(_ name: String, _ flag: Bool?) { add(name, flag.map { $0 ? "true" : "false" }) }
}
