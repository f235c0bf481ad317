import AppStore

/// Until when a contract gives access.
extension ReferenceModel {
    /// An instant in milliseconds since 1970, or no end.
    enum Until: Equatable {
        case instant(Int64)
        case forever
    }

    /// The charge that counts now: the one bought last.
    func current(of charges: [Charge]) -> Charge? {
        charges.max { left, right in
            if left.purchaseDate != right.purchaseDate { return left.purchaseDate < right.purchaseDate }
            let ends = (left.expiresDate ?? .min, right.expiresDate ?? .min)
            return ends.0 != ends.1 ? ends.0 < ends.1 : Charge.hasLowerNumber(left, right)
        }
    }

    func accessUntil(_ current: Charge, among charges: [Charge], renewal: Assertion?) -> Until? {
        switch current.latest.text("type") {
        case "Non-Consumable": current.revocationDate.map(Until.instant) ?? .forever
        case "Non-Renewing Subscription": current.revocationDate.map(Until.instant)
        case "Auto-Renewable Subscription": subscriptionUntil(current, among: charges, renewal).map(Until.instant)
        default: nil
        }
    }

    private func subscriptionUntil(_ current: Charge, among charges: [Charge], _ renewal: Assertion?) -> Int64? {
        let rule = rule(current, renewal)
        guard current.revocationDate != nil else { return rule }
        // What was paid for before a revoked period is still paid for.
        let kept = charges.filter { $0.revocationDate == nil }.compactMap(\.expiresDate).filter { $0 <= current.purchaseDate }
        return [rule, kept.max()].compactMap { $0 }.max()
    }

    private func rule(_ current: Charge, _ renewal: Assertion?) -> Int64? {
        let end = current.revocationDate ?? current.expiresDate
        guard let renewal else { return end }
        if current.revocationDate != nil, current.latest.signed > renewal.signed { return end }
        // An older assertion than the charge itself knows nothing of it.
        guard renewal.signed >= current.assertions[0].signed else { return end }
        switch renewal.status {
        case .some(.active): return [current.expiresDate, renewal.number("renewalDate")].compactMap { $0 }.max()
        case .some(.billingGracePeriod): return renewal.number("gracePeriodExpiresDate") ?? end
        case .some(.expired), .some(.billingRetry), .some(.revoked): return end.map { min($0, renewal.signed) }
        default: return end
        }
    }
}
