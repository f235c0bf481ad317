import ServerAPI
import StrictJSON

extension ServerAPIEndpoint {
    /// Whether its answer becomes events.
    var isAnsweredWithTransactions: Bool {
        switch self {
        case .transactionInfo, .transactionHistory, .subscriptionStatuses, .refundHistory, .orderLookup, .appTransaction: true
        default: false
        }
    }

    /// Whether its answer has pages, each with the revision that the next one is asked for with.
    var isPaged: Bool { self == .transactionHistory || self == .refundHistory }

    /// The members of its answer that are told to people. None of them is signed.
    fileprivate var words: [String] {
        switch self {
        case .extendRenewalDate: ["originalTransactionId", "webOrderLineItemId", "success", "effectiveDate"]
        case .extendForAll: ["requestIdentifier"]
        case .extendStatus: ["requestIdentifier", "complete", "completeDate", "succeededCount", "failedCount"]
        case .testNotification: ["testNotificationToken"]
        case .testStatus: ["sendAttempts"]
        case .customerGroups: ["groups"]
        case .groupMembers: ["members", "hasMore", "paginationToken"]
        case .seatInfo: ["totalSeatCount", "availableSeatCount", "assignedSeatClaimIds"]
        default: []
        }
    }
}

extension ServerAPIAnswer {
    /// What people are told of an answer that is no event; empty for an answer without a body.
    func words(of endpoint: ServerAPIEndpoint) -> JSONObject {
        guard !endpoint.words.isEmpty else { return [:] }
        do {
            return JSONObject(
                try JSONParser().parseObject(body).members.filter { endpoint.words.contains($0.name) }.map { ($0.name, $0.value) }
            )
        } catch {
            // Apple has done what was asked, whatever the body says.
            return [:]
        }
    }
}
