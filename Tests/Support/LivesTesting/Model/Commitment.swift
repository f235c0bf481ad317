import StrictJSON

/// What a customer has committed to pay by the month; appstoreserverapi/transactioncommitmentinfo and renewalcommitmentinfo.
struct Commitment {
    /// Milliseconds since 1970.
    let until: Int64?
    let paymentsLeft: Int64?
    /// Whether another commitment will follow.
    let willRenew: Bool?
    /// Whether the running period is the last one that is charged.
    let isLastPeriod: Bool

    /// Nil unless the purchase is a month of a commitment.
    init?(_ current: Purchase, _ renewal: Assertion?) {
        guard case .object(let info) = current.newest.signed?.json["commitmentInfo"] else { return nil }
        until = Self.number("commitmentExpiresDate", of: info)
        let months = (Self.number("billingPeriodNumber", of: info), Self.number("totalBillingPeriods", of: info))
        paymentsLeft = months.0.flatMap { number in months.1.map { $0 - number } }.flatMap { $0 < 0 ? nil : $0 }
        if case .object(let next) = renewal?.json["commitmentInfo"] {
            willRenew = Self.number("commitmentAutoRenewStatus", of: next).map { $0 == 1 }
        } else {
            willRenew = nil
        }
        let endsNow = until.flatMap { until in current.expiresDate.map { until <= $0 } } ?? false
        isLastPeriod = willRenew == false && endsNow
    }

    private static func number(_ member: String, of object: JSONObject) -> Int64? {
        guard case .number(let number) = object[member] else { return nil }
        return number.int64
    }
}
