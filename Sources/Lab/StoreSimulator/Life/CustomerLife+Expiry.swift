import AppStore

/// Why a subscription ends.
package enum ExpiryReason: Hashable, Sendable, CaseIterable {
    case voluntary
    case billingRetry
    case priceIncrease
    case productNotForSale
    /// Apple gives no subtype.
    case unnamed

    var subtype: Subtype? {
        switch self {
        case .voluntary: .voluntary
        case .billingRetry: .billingRetry
        case .priceIncrease: .priceIncrease
        case .productNotForSale: .productNotForSale
        case .unnamed: nil
        }
    }

    var intent: ExpirationIntent {
        switch self {
        case .voluntary: .customerCancelled
        case .billingRetry: .billingError
        case .priceIncrease: .customerDidNotConsentToPriceIncrease
        case .productNotForSale: .productNotAvailable
        case .unnamed: .other
        }
    }
}

extension CustomerLife {
    /// DID_CHANGE_RENEWAL_STATUS with AUTO_RENEW_DISABLED: the customer unsubscribes and keeps access until the period ends.
    ///
    /// In a commitment only commitmentAutoRenewStatus becomes 0: the months that are left are charged, and autoRenewStatus stays 1 (WWDC26,
    /// session 210). Apple does not document whether it sends this notification then; ``cancelCommitment()`` is without one.
    /// - Parameter namingSubtype: false leaves the subtype out.
    package mutating func turnAutoRenewOff(namingSubtype: Bool = true) throws(SimulationError) -> SimulatedNotification {
        try turnAutoRenew(false, namingSubtype ? .autoRenewDisabled : nil)
    }

    /// DID_CHANGE_RENEWAL_STATUS with AUTO_RENEW_ENABLED.
    /// - Parameter namingSubtype: false leaves the subtype out.
    package mutating func turnAutoRenewOn(namingSubtype: Bool = true) throws(SimulationError) -> SimulatedNotification {
        try turnAutoRenew(true, namingSubtype ? .autoRenewEnabled : nil)
    }

    /// EXPIRED. A customer who unsubscribed, did not agree to a price or whose product is gone loses the subscription when the period
    /// ends; one who could not be charged, sixty days later.
    package mutating func expire(_ reason: ExpiryReason) throws(SimulationError) -> SimulatedNotification {
        var subscription = try contract(for: "EXPIRED")
        let event = "EXPIRED\(reason.subtype.map { "/\($0.rawValue)" } ?? "")"
        guard canExpire(subscription, reason) else { throw .impossible(event, because: "the subscription cannot expire in this way") }
        let wait = reason == .billingRetry ? Duration.seconds(60 * 86_400) : .zero
        advance(to: subscription.expiresDate.advanced(by: wait + pause(1...1800)))
        subscription.phase = .expired(reason.intent)
        subscription.stopRenewing()
        subscription.upcomingOffer = nil
        self.subscription = subscription
        return notification(.expired, reason.subtype, about: subscription.current)
    }

    /// The customer cancels a commitment, and the next renewal info shows it.
    package mutating func cancelCommitment() throws(SimulationError) {
        let subscription = try activeContract(for: "a cancellation")
        guard subscription.terms.commitment?.renews == true else { throw .impossible("a cancellation", because: "no commitment renews") }
        self.subscription?.terms.commitment?.renews = false
    }

    func canExpire(_ subscription: SimulatedSubscription, _ reason: ExpiryReason) -> Bool {
        guard reason != .billingRetry else { return subscription.phase == .billingRetry }
        guard subscription.phase == .active else { return false }
        return switch reason {
        case .voluntary: !subscription.willRenew
        case .priceIncrease: subscription.autoRenews && subscription.awaitsConsent
        case .productNotForSale, .unnamed:
            subscription.willRenew && !subscription.awaitsConsent && subscription.terms.commitment?.isInLastMonth ?? true
        case .billingRetry: false
        }
    }

    private mutating func turnAutoRenew(_ isOn: Bool, _ subtype: Subtype?) throws(SimulationError) -> SimulatedNotification {
        var subscription = try activeContract(for: "DID_CHANGE_RENEWAL_STATUS")
        guard subscription.isSetToRenew != isOn else {
            throw .impossible("DID_CHANGE_RENEWAL_STATUS", because: "automatic renewal is \(isOn ? "on" : "off") already")
        }
        if isOn || subscription.terms.commitment == nil { subscription.autoRenews = isOn }
        subscription.terms.commitment?.renews = isOn
        self.subscription = subscription
        return notification(.didChangeRenewalStatus, subtype, about: subscription.current)
    }
}
