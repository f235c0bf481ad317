package import ServerAPI

extension ServerAPICallHandler {
    /// Make the calls that ask the App Store Server API, other than consumption. The kinds that reconciliation asks in large numbers have slots of
    /// their own, so that it delays no other kind.
    package static func inquiries(_ client: ServerAPIClient) -> [ServerAPICallHandler] {
        let reconciled: [ServerAPIEndpoint] = [.subscriptionStatuses, .transactionHistory]
        let others: [ServerAPIEndpoint] = [
            .transactionInfo, .refundHistory, .orderLookup, .appTransaction, .setAppAccountToken, .finishTransaction, .extendRenewalDate,
            .extendForAll, .extendStatus, .testNotification, .testStatus, .customerGroups, .groupMembers, .seatInfo,
        ]
        return [reconciled, others].map { endpoints in
            ServerAPICallHandler(endpoints.map(\.rawValue), client: client) { InquiryAttempt($0) }
        }
    }
}
