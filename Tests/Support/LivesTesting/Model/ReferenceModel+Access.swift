import AppStore

/// The end of a contract's access.
extension ReferenceModel {
    /// An instant in milliseconds since 1970, or no end.
    enum Until: Equatable {
        case instant(Int64)
        case forever
    }

    /// The current purchase: the last one, or the one before it, if that still ran when the last one began and counts more. Where the last one
    /// added seats, any one that ran.
    func current(of charges: [Charge]) -> Purchase? {
        let purchases = purchases(of: charges).sorted(by: Purchase.isBefore)
        guard let last = purchases.last else { return nil }
        let adds = last.charges.contains(where: \.isOfAdditions)
        let others = adds ? purchases.dropLast() : purchases.dropLast().suffix(1)
        let running = others.filter { $0.expiresDate.map { $0 > last.purchaseDate } ?? false } + [last]
        let least = running.map(rank).min()
        var best = running.filter { rank($0) == least }
        // The access of a group lasted until its last part was revoked.
        if adds { best = best.filter { $0.revocationDate == best.compactMap(\.revocationDate).max() } }
        if let renewal = renewals[last.key], renewal.signed >= running.map(\.firstSigned).max() ?? .max {
            let named = best.filter { $0.product == renewal.text("productId") }
            if !named.isEmpty { best = named }
        }
        return best.last
    }

    private func purchases(of charges: [Charge]) -> [Purchase] {
        Dictionary(grouping: charges, by: \.period).values.compactMap(Purchase.init)
    }

    /// An upgraded purchase counts least; a revoked one counts less than a paid one.
    private func rank(_ purchase: Purchase) -> Int {
        purchase.isUpgraded ? 2 : purchase.revocationDate == nil ? 0 : 1
    }

    func accessUntil(_ current: Purchase, among charges: [Charge]) -> Until? {
        guard !current.isSubscription else { return subscriptionUntil(current, among: charges).map(Until.instant) }
        return switch current.type {
        case "Non-Consumable": current.revocationDate.map(Until.instant) ?? .forever
        case "Non-Renewing Subscription": current.revocationDate.map(Until.instant)
        default: nil
        }
    }

    private func subscriptionUntil(_ current: Purchase, among charges: [Charge]) -> Int64? {
        let rule = [rule(current, renewals[current.key]), legacyGrace(current)].compactMap { $0 }.max()
        guard current.revocationDate != nil else { return rule }
        // Earlier paid periods stay paid when a later one is revoked.
        let unrevoked = purchases(of: charges).filter { $0.revocationDate == nil }
        let kept = unrevoked.compactMap(\.expiresDate).filter { $0 <= current.purchaseDate }
        return [rule, kept.max()].compactMap { $0 }.max()
    }

    private func rule(_ current: Purchase, _ renewal: Assertion?) -> Int64? {
        let end = current.revocationDate ?? current.expiresDate
        guard let renewal else { return end }
        if current.revocationDate != nil, current.lastSigned > renewal.signed { return end }
        // A renewal older than the charge does not cover it, nor does one that says how an earlier period ended.
        guard renewal.signed >= current.firstSigned, !isOfEarlierPeriod(renewal, than: current) else { return end }
        switch renewal.status {
        case .some(.active): return [current.expiresDate, renewal.number("renewalDate")].compactMap { $0 }.max()
        case .some(.billingGracePeriod):
            // The longest grace period that Apple offers.
            return renewal.number("gracePeriodExpiresDate") ?? current.expiresDate.map { $0 + 28 * 86_400_000 } ?? end
        case .some(.expired), .some(.billingRetry), .some(.revoked): return end.map { min($0, renewal.signed) }
        default: return end
        }
    }

    /// Whether a renewal says how the period before a charge ended.
    func isOfEarlierPeriod(_ renewal: Assertion, than current: Purchase) -> Bool {
        guard let end = renewal.number("renewalDate"), let status = renewal.status else { return false }
        return end <= current.purchaseDate && [.expired, .billingRetry, .billingGracePeriod, .revoked].contains(status)
    }

    /// A grace period reported by notifications V1 or answers: given unless a newer statement signed by Apple exists or the charge was
    /// revoked.
    private func legacyGrace(_ current: Purchase) -> Int64? {
        guard let legacy = legacyRenewal(thatCountsFor: current), legacy.isInBillingRetry, current.revocationDate == nil,
            let grace = legacy.grace, let end = current.expiresDate, grace <= end + 30 * 86_400_000
        else { return nil }
        if let renewal = renewals[current.key], renewal.status == .revoked, renewal.signed >= current.firstSigned { return nil }
        return grace
    }

    /// The latest renewal state from notifications V1 and answers of the charge's app, if no signed one is as new.
    func legacyRenewal(thatCountsFor current: Purchase) -> V1Renewal? {
        guard let legacy = legacyRenewals[V1Renewal.Name(contract: current.key, bundle: current.bundle)] else { return nil }
        guard let renewal = renewals[current.key] else { return legacy }
        return legacy.statedAt > renewal.signed ? legacy : nil
    }
}
