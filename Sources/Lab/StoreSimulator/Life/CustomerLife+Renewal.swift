import AppStore

extension CustomerLife {
    /// DID_RENEW: charged within the last 24 hours of the period (or its second half, when it is shorter), for a period that begins where
    /// this one ends; repeats the token.
    package mutating func renew() throws(SimulationError) -> SimulatedNotification {
        let subscription = try activeContract(for: "DID_RENEW")
        guard subscription.willRenew else { throw .impossible("DID_RENEW", because: "automatic renewal is off") }
        guard !subscription.awaitsConsent else { throw .impossible("DID_RENEW", because: "the customer has not agreed to the new price") }
        let expiry = subscription.expiresDate
        let half = (expiry.millisecondsSince1970 - subscription.current.purchaseDate.millisecondsSince1970) / 2000
        let window = max(1, min(86_400, half))
        if now < expiry.advanced(by: .seconds(-window)) { advance(to: expiry.advanced(by: .zero - pause(1...window))) }
        return notification(.didRenew, about: chargeNextPeriod(of: subscription, from: expiry))
    }

    /// DID_RENEW with BILLING_RECOVERY: a failed charge succeeded. Within a grace period the new period begins where the last one ended,
    /// else now.
    package mutating func recoverBilling() throws(SimulationError) -> SimulatedNotification {
        let subscription = try contract(for: "DID_RENEW/BILLING_RECOVERY")
        let start: Timestamp
        switch subscription.phase {
        case .gracePeriod(let until) where now < until: start = subscription.expiresDate
        case .billingRetry: start = max(thisSecond, subscription.expiresDate)
        case .active, .gracePeriod, .expired, .revoked:
            throw .impossible("DID_RENEW/BILLING_RECOVERY", because: "no charge has failed")
        }
        return notification(.didRenew, .billingRecovery, about: chargeNextPeriod(of: subscription, from: start))
    }

    /// DID_FAIL_TO_RENEW at the expiry, with GRACE_PERIOD if the app grants one.
    package mutating func failToRenew(withGracePeriod hasGrace: Bool) throws(SimulationError) -> SimulatedNotification {
        var subscription = try contract(for: "DID_FAIL_TO_RENEW")
        guard subscription.phase == .active else { throw .impossible("DID_FAIL_TO_RENEW", because: "the subscription is not active") }
        guard subscription.willRenew else { throw .impossible("DID_FAIL_TO_RENEW", because: "automatic renewal is off") }
        guard !subscription.awaitsConsent else { throw .impossible("DID_FAIL_TO_RENEW", because: "the customer has not agreed") }
        let expiry = subscription.expiresDate
        advance(to: expiry.advanced(by: pause(1...60)))
        // At most sixteen days, six for weekly plans.
        let days: Int64 = subscription.current.product.period == .weeks(1) ? 6 : 16
        subscription.phase = hasGrace ? .gracePeriod(until: expiry.advanced(by: .seconds(days * 86_400))) : .billingRetry
        self.subscription = subscription
        return notification(.didFailToRenew, hasGrace ? .gracePeriod : nil, about: subscription.current)
    }

    /// GRACE_PERIOD_EXPIRED: service ends, billing retry goes on.
    package mutating func endGracePeriod() throws(SimulationError) -> SimulatedNotification {
        var subscription = try contract(for: "GRACE_PERIOD_EXPIRED")
        guard case .gracePeriod(let until) = subscription.phase else {
            throw .impossible("GRACE_PERIOD_EXPIRED", because: "there is no grace period")
        }
        advance(to: until.advanced(by: pause(1...60)))
        subscription.phase = .billingRetry
        self.subscription = subscription
        return notification(.gracePeriodExpired, about: subscription.current)
    }

    /// RENEWAL_EXTENDED: the developer gave this customer up to 90 days.
    package mutating func extendRenewal(byDays days: Int) throws(SimulationError) -> SimulatedNotification {
        var subscription = try activeContract(for: "RENEWAL_EXTENDED")
        guard (1...90).contains(days) else { throw .impossible("RENEWAL_EXTENDED", because: "\(days) days are not 1 to 90") }
        let extended = subscription.expiresDate.advanced(by: .seconds(days * 86_400))
        let commitmentEnd = subscription.current.commitment?.expiresDate.advanced(by: .seconds(days * 86_400))
        subscription.changePeriod(of: subscription.current) {
            $0.expiresDate = extended
            if let commitmentEnd { $0.commitment?.expiresDate = commitmentEnd }
        }
        self.subscription = subscription
        return notification(.renewalExtended, about: subscription.current)
    }

    /// RENEWAL_EXTENSION with FAILURE: the extension of many subscriptions failed for this customer.
    package mutating func failToExtendRenewal() throws(SimulationError) -> SimulatedNotification {
        let subscription = try contract(for: "RENEWAL_EXTENSION/FAILURE")
        return notification(.renewalExtension, .failure, about: subscription.current)
    }

    private mutating func chargeNextPeriod(of contract: SimulatedSubscription, from start: Timestamp) -> SimulatedTransaction {
        var subscription = contract
        let (price, product) = (subscription.renewalPrice, subscription.renewalProduct)
        subscription.terms.commitment = subscription.nextCommitment
        subscription.terms.commitment?.beginMonth(at: start)
        if let agreed = subscription.priceIncrease?.price ?? subscription.advancedCommerce?.scheduledPrice {
            subscription.agreedPrices[subscription.nextProduct.id] = agreed
        }
        subscription.advancedCommerce?.scheduledPrice = nil
        subscription.priceIncrease = nil
        let transaction = charge(
            for: product,
            from: start,
            reason: .renewal,
            offer: subscription.upcomingOffer,
            token: subscription.appAccountToken,
            in: subscription,
            price: price,
            terms: subscription.terms
        )
        subscription.transactions.append(transaction)
        subscription.upcomingOffer = Self.remainder(of: subscription.upcomingOffer)
        subscription.phase = .active
        self.subscription = subscription
        return transaction
    }
}
