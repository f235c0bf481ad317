import AppStore
import FoundationEssentials
import StrictJSON

/// Send Consumption Information, both versions.
extension SimulatedServerAPI {
    private static let deliveryStatuses = [
        "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM", "UNDELIVERED_SERVER_OUTAGE", "UNDELIVERED_OTHER",
    ]
    /// The numbers of version 1, all required: their range and the error.
    private static let numbers: [(name: String, range: ClosedRange<Int64>, error: ServerAPIError)] = [
        ("consumptionStatus", 0...3, .invalid(4_000_034, "consumptionStatus")), ("platform", 0...2, .invalid(4_000_039, "platform")),
        ("deliveryStatus", 0...5, .deliveryStatus), ("accountTenure", 0...7, .invalid(4_000_032, "accountTenure")),
        ("playTime", 0...7, .invalid(4_000_040, "playTime")),
        ("lifetimeDollarsRefunded", 0...7, .invalid(4_000_038, "lifetimeDollarsRefunded")),
        ("lifetimeDollarsPurchased", 0...7, .invalid(4_000_037, "lifetimeDollarsPurchased")),
        ("userStatus", 0...4, .invalid(4_000_042, "userStatus")),
    ]

    mutating func takeConsumption(_ task: ServerAPITask) throws -> SimulatedReply {
        let (transaction, _) = try transaction(Self.transactionID(task.arguments[0]), task)
        let body = try task.request.members()
        guard transaction.advancedCommerce == nil else { throw ServerAPIError.advancedCommerce }
        guard transaction.ownership == .purchased else { throw ServerAPIError.familyTransaction }
        guard body["customerConsented"]?.flag == true else { throw ServerAPIError.consented }
        guard let delivery = body["deliveryStatus"]?.text, Self.deliveryStatuses.contains(delivery) else {
            throw ServerAPIError.deliveryStatus
        }
        guard body["sampleContentProvided"]?.flag != nil else { throw ServerAPIError.sampleContent }
        let percentage = try Self.percentage(body, of: transaction, isDelivered: delivery == "DELIVERED")
        try Self.checkPreference(body, of: transaction, percentage)
        return accept(body, about: transaction, task)
    }

    private static func percentage(
        _ body: JSONObject,
        of transaction: SimulatedTransaction,
        isDelivered: Bool
    ) throws(ServerAPIError) -> Int64? {
        guard let value = body["consumptionPercentage"], value != .null else { return nil }
        guard transaction.product.type != .autoRenewableSubscription else { throw .percentageOfSubscription }
        guard let percentage = value.integer, (0...100_000).contains(percentage) else { throw .percentageOutOfRange }
        guard isDelivered || percentage == 0 else { throw .percentageOfUndelivered }
        return percentage
    }

    private static func checkPreference(
        _ body: JSONObject,
        of transaction: SimulatedTransaction,
        _ percentage: Int64?
    ) throws(ServerAPIError) {
        guard let value = body["refundPreference"], value != .null else { return }
        guard let preference = value.text, ["DECLINE", "GRANT_FULL", "GRANT_PRORATED"].contains(preference) else { throw .refundPreference }
        guard preference == "GRANT_PRORATED", transaction.product.type != .autoRenewableSubscription else { return }
        guard let percentage, (1..<100_000).contains(percentage) else { throw .refundPreference }
    }

    mutating func takeConsumptionV1(_ task: ServerAPITask) throws -> SimulatedReply {
        let (transaction, _) = try transaction(Self.transactionID(task.arguments[0]), task)
        let body = try task.request.members()
        guard transaction.advancedCommerce != nil else { throw ServerAPIError.transactionType }
        guard transaction.ownership == .purchased else { throw ServerAPIError.familyTransaction }
        guard body["customerConsented"]?.flag == true else { throw ServerAPIError.consented }
        for number in Self.numbers {
            guard let value = body[number.name]?.integer, number.range.contains(value) else { throw number.error }
        }
        guard body["sampleContentProvided"]?.flag != nil else { throw ServerAPIError.sampleContent }
        guard let token = body["appAccountToken"]?.text, token.isEmpty || UUID(uuidString: token) != nil else {
            throw ServerAPIError.accountToken
        }
        if let preference = body["refundPreference"], preference != .null {
            guard let number = preference.integer, (0...3).contains(number) else { throw ServerAPIError.refundPreference }
        }
        return accept(body, about: transaction, task)
    }

    private mutating func accept(_ body: JSONObject, about transaction: SimulatedTransaction, _ task: ServerAPITask) -> SimulatedReply {
        let asked = places[task.place]?.consumptionAsked[transaction.transactionID]
        let deadline = asked?.advanced(by: .seconds(12 * 3600))
        let isInTime = deadline.map { task.now <= $0 } ?? false
        places[task.place]?.consumptions.append(
            Consumption(transactionID: transaction.transactionID, body: body, at: task.now, isInTime: isInTime)
        )
        return SimulatedReply(status: 202)
    }
}
