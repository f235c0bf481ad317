import StrictJSON

/// One payload of each kind with every member that Apple documents.
enum SamplePayload {
    static let notification: JSONObject = [
        "notificationType": "SUBSCRIBED", "subtype": "INITIAL_BUY", "notificationUUID": "002e14d5-51f5-4503-b5a8-c3a1af68eb20",
        "version": "2.0",
        "signedDate": 1_698_148_900_000, "data": .object(data), "summary": .object(summary),
        "externalPurchaseToken": .object(externalPurchaseToken),
        "appData": .object(appData), "unclaimInfo": .object(unclaimInfo),
    ]

    static let data: JSONObject = [
        "environment": "Production", "appAppleId": 41234, "bundleId": "com.example", "bundleVersion": "1.2.3",
        "signedTransactionInfo": "a.b.c",
        "signedRenewalInfo": "d.e.f", "status": 1, "consumptionRequestReason": "UNINTENDED_PURCHASE",
    ]

    static let summary: JSONObject = [
        "environment": "Production", "appAppleId": 41234, "bundleId": "com.example", "productId": "com.example.product",
        "requestIdentifier": "efb27071-45a4-4aca-9854-2a1e9146f265", "storefrontCountryCodes": ["CAN", "USA", "MEX"], "succeededCount": 5,
        "failedCount": 2,
    ]

    static let externalPurchaseToken: JSONObject = [
        "externalPurchaseId": "b2158121-7af9-49d4-9561-1f588205523e", "tokenCreationDate": 1_698_148_950_000,
        "tokenType": "SERVICES", "tokenExpirationDate": 1_698_149_950_000, "appAppleId": 55555, "bundleId": "com.example",
    ]

    static let appData: JSONObject = [
        "appAppleId": 41234, "bundleId": "com.example", "environment": "Sandbox", "signedAppTransactionInfo": "g.h.i",
    ]

    static let unclaimInfo: JSONObject = [
        "unclaimSeatIds": ["0c9a35a9-1e1a-4d9e-9c38-6c1f6a4d2b10"], "environment": "Production", "bundleId": "com.example",
        "appAppleId": 41234,
    ]

    static let transaction: JSONObject = [
        "originalTransactionId": "12345", "transactionId": "23456", "webOrderLineItemId": "34343", "bundleId": "com.example",
        "productId": "com.example.product", "subscriptionGroupIdentifier": "55555", "purchaseDate": 1_698_148_900_000,
        "originalPurchaseDate": 1_698_148_800_000, "expiresDate": 1_698_149_000_000, "quantity": 1, "type": "Auto-Renewable Subscription",
        "appAccountToken": "7e3fb20b-4cdb-47cc-936d-99d65f608138", "inAppOwnershipType": "PURCHASED", "signedDate": 1_698_148_900_000,
        "revocationReason": 1, "revocationDate": 1_698_148_950_000, "isUpgraded": true, "offerType": 1, "offerIdentifier": "abc.123",
        "environment": "Production", "storefront": "USA", "storefrontId": "143441", "transactionReason": "PURCHASE", "currency": "USD",
        "price": 10990, "offerDiscountType": "PAY_AS_YOU_GO", "appTransactionId": "71134", "offerPeriod": "P1Y",
        "revocationType": "REFUND_PRORATED",
        "revocationPercentage": 50000, "billingPlanType": "MONTHLY", "commitmentInfo": .object(transactionCommitment),
        "multiSeatInfo": .object(transactionSeats), "additionalTransactionReason": "SEAT_ADDITION",
        "previousOriginalTransactionId": "11111",
    ]

    static let transactionCommitment: JSONObject = [
        "billingPeriodNumber": 3, "totalBillingPeriods": 12, "commitmentExpiresDate": 1_698_149_000_000, "commitmentPrice": 119_880,
    ]

    static let transactionSeats: JSONObject = [
        "invitationManagement": "APPLE", "priceTiers": [.object(priceTier), ["price": 7990, "quantity": 2]], "revokedSeatQuantity": 2,
    ]

    static let priceTier: JSONObject = ["price": 9990, "quantity": 5]

    static let renewalInfo: JSONObject = [
        "expirationIntent": 1, "originalTransactionId": "12345", "autoRenewProductId": "com.example.product.2",
        "productId": "com.example.product",
        "autoRenewStatus": 1, "isInBillingRetryPeriod": true, "priceIncreaseStatus": 0, "gracePeriodExpiresDate": 1_698_148_900_000,
        "offerType": 2,
        "offerIdentifier": "abc.123", "signedDate": 1_698_148_800_000, "environment": "Sandbox",
        "recentSubscriptionStartDate": 1_698_148_800_000,
        "renewalDate": 1_698_148_850_000, "currency": "USD", "renewalPrice": 9990, "offerDiscountType": "PAY_AS_YOU_GO",
        "eligibleWinBackOfferIds": ["eligible1", "eligible2"], "appAccountToken": "7e3fb20b-4cdb-47cc-936d-99d65f608138",
        "appTransactionId": "71134",
        "offerPeriod": "P1Y", "renewalBillingPlanType": "BILLED_UPFRONT", "commitmentInfo": .object(renewalCommitment),
        "multiSeatInfo": .object(renewalSeats), "renewalQuantity": 5,
    ]

    static let renewalCommitment: JSONObject = [
        "commitmentAutoRenewProductId": "com.example.product.2", "commitmentAutoRenewStatus": 0,
        "commitmentRenewalBillingPlanType": "MONTHLY", "commitmentRenewalDate": 1_698_149_000_000, "commitmentRenewalPrice": 9990,
    ]

    static let renewalSeats: JSONObject = ["renewalPriceTiers": [.object(priceTier)]]

    static let appTransaction: JSONObject = [
        "receiptType": "Production", "appAppleId": 531412, "bundleId": "com.example", "applicationVersion": "1.2.3",
        "versionExternalIdentifier": 512,
        "receiptCreationDate": 1_698_148_900_000, "originalPurchaseDate": 1_698_148_800_000, "originalApplicationVersion": "1.1.2",
        "deviceVerification": "ZGV2aWNl", "deviceVerificationNonce": "48ccfa42-7431-4f22-9908-7e88983e105a",
        "preorderDate": 1_698_148_700_000,
        "appTransactionId": "71134", "originalPlatform": "iOS", "storeType": "CONSUMER", "revocationDate": 1698148900000,
    ]
}
