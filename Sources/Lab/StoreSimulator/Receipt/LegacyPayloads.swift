import AppStore
import StrictJSON

extension InAppPurchase {
    /// An entry of `in_app`.
    var json: JSONObject {
        var json = JSONObject()
        json.add("quantity", quantity.map { String($0) })
        json.add("product_id", productID)
        json.add("transaction_id", transactionID)
        json.add("original_transaction_id", originalTransactionID)
        json.addDate("purchase_date", purchaseDate)
        json.addDate("original_purchase_date", originalPurchaseDate)
        json.addDate("expires_date", expiresDate)
        json.add("web_order_line_item_id", webOrderLineItemID)
        json.addDate("cancellation_date", cancellationDate)
        json.addFlag("is_trial_period", isTrialPeriod)
        json.addFlag("is_in_intro_offer_period", isInIntroOfferPeriod)
        json.add("promotional_offer_id", promotionalOfferID)
        return json
    }
}

extension SimulatedTransaction {
    /// An entry of `latest_receipt_info`, with more members than `in_app`.
    var legacyPayload: JSONObject {
        var json = InAppPurchase(self).json
        json.add("cancellation_reason", revocation.map { String($0.reason.rawValue) })
        if isUpgraded { json.addFlag("is_upgraded", true) }
        json.add("subscription_group_identifier", product.subscriptionGroupID)
        json.add("in_app_ownership_type", ownership.rawValue)
        json.add("app_account_token", appAccountToken)
        json.add("offer_code_ref_name", offer?.type == .offerCode ? offer?.identifier : nil)
        return json
    }
}

extension SimulatedRenewalInfo {
    /// An entry of `pending_renewal_info`.
    var legacyPayload: JSONObject {
        var json = JSONObject()
        json.add("original_transaction_id", originalTransactionID)
        json.add("product_id", productID)
        json.add("auto_renew_product_id", autoRenewProduct.id)
        json.add("auto_renew_status", autoRenews ? "1" : "0")
        json.add("is_in_billing_retry_period", isInBillingRetryPeriod.map { $0 ? "1" : "0" })
        json.add("expiration_intent", expirationIntent.map { String($0.rawValue) })
        json.addDate("grace_period_expires_date", gracePeriodExpiresDate?.floored)
        json.add("price_consent_status", priceIncreaseStatus.map { String($0.rawValue) })
        json.add("promotional_offer_id", offer?.type == .promotionalOffer ? offer?.identifier : nil)
        json.add("offer_code_ref_name", offer?.type == .offerCode ? offer?.identifier : nil)
        return json
    }
}
