package import AppStore

extension CustomerLife {
    /// REFUND of a charge, by default the current one. The refund of an older one has the current renewal info and changes no access.
    /// - Parameter percentage: thousandths of a percent; 100,000 is everything.
    package mutating func refund(
        _ transactionID: String? = nil,
        percentage: Int32 = 100_000,
        reason: RevocationReason = .refundedForOtherReason
    ) throws(SimulationError) -> SimulatedNotification {
        var transaction = try charge(transactionID, for: "REFUND")
        guard transaction.revocation == nil else { throw .impossible("REFUND", because: "it is refunded or revoked already") }
        guard !transaction.isUpgraded else { throw .impossible("REFUND", because: "an upgrade has replaced and refunded it") }
        guard transaction.price != nil, transaction.ownership == .purchased else {
            throw .impossible("REFUND", because: "a family member has not paid")
        }
        guard (1...100_000).contains(percentage) else {
            throw .impossible("REFUND", because: "\(percentage) thousandths of a percent are not 1 to 100,000")
        }
        transaction = setRevocation(
            .init(date: thisSecond, reason: reason, type: percentage == 100_000 ? .refundFull : .refundProrated, percentage: percentage),
            of: transaction
        )
        revokeContract(of: transaction)
        return notification(.refund, about: transaction)
    }

    /// REFUND_REVERSED: Apple charges the customer again, who regains access for the rest of the period.
    package mutating func reverseRefund(_ transactionID: String? = nil) throws(SimulationError) -> SimulatedNotification {
        var transaction = try charge(transactionID, for: "REFUND_REVERSED")
        guard transaction.revocation?.isRefund == true else {
            throw .impossible("REFUND_REVERSED", because: "it was not refunded")
        }
        transaction = setRevocation(nil, of: transaction)
        if var contract = subscription, contract.phase == .revoked, contract.isCurrent(transaction) {
            contract.phase = now < contract.expiresDate ? .active : .expired(.customerCancelled)
            subscription = contract
        }
        return notification(.refundReversed, about: transaction)
    }

    /// REFUND_DECLINED: nothing changes.
    package mutating func declineRefund(_ transactionID: String? = nil) throws(SimulationError) -> SimulatedNotification {
        notification(.refundDeclined, about: try charge(transactionID, for: "REFUND_DECLINED"))
    }

    /// CONSUMPTION_REQUEST: the customer requests a refund, and Apple asks about the consumption. A repetition has another UUID.
    package mutating func requestConsumption(
        _ transactionID: String? = nil,
        reason: ConsumptionRequestReason = .unintendedPurchase
    ) throws(SimulationError) -> SimulatedNotification {
        notification(
            .consumptionRequest,
            about: try charge(transactionID, for: "CONSUMPTION_REQUEST"),
            consumptionRequestReason: reason
        )
    }

    /// REVOKE: family sharing ends, or a member is removed from a group; only for a customer who has not bought.
    /// - Parameter type: why; nil is the type of the ownership. Another one, such as one that Apple may add, may also be of a purchase.
    package mutating func revoke(
        _ transactionID: String? = nil,
        as type: RevocationType? = nil
    ) throws(SimulationError) -> SimulatedNotification {
        var transaction = try charge(transactionID, for: "REVOKE")
        guard let type = type ?? Self.revocation(of: transaction.ownership) else {
            throw .impossible("REVOKE", because: "the customer bought it")
        }
        guard transaction.revocation == nil else { throw .impossible("REVOKE", because: "it is revoked already") }
        transaction = setRevocation(
            .init(date: thisSecond, reason: .refundedForOtherReason, type: type, percentage: nil),
            of: transaction
        )
        revokeContract(of: transaction)
        return notification(.revoke, about: transaction)
    }

    /// RESCIND_CONSENT: a parent withdraws consent to the app.
    package mutating func rescindConsent() -> SimulatedNotification {
        notification(.rescindConsent, content: .appData(appTransaction()))
    }

    /// The charge with this identifier, else the subscription's current one, else the last that was paid once.
    private func charge(_ id: String?, for event: String) throws(SimulationError) -> SimulatedTransaction {
        let found = id.map { transaction($0) } ?? subscription?.current ?? oneTimeCharges.last
        guard let found else { throw .impossible(event, because: id.map { "there is no transaction \($0)" } ?? "nothing was bought") }
        return found
    }

    /// The revocation that ends an ownership without a refund (appstoreserverapi/revocationtype); nil of a purchase.
    private static func revocation(of ownership: InAppOwnershipType) -> RevocationType? {
        switch ownership {
        case .purchased: nil
        case .familyShared: .familyRevoke
        case .assigned: .assignmentRevoke
        default: .undocumented
        }
    }

    /// Ends the contract if the revoked charge is its current period and it has not ended already. A period of several transactions ends when
    /// each of them is revoked (appstoreserverapi/revokedseatquantity).
    private mutating func revokeContract(of transaction: SimulatedTransaction) {
        guard var contract = subscription, contract.isCurrent(transaction) else { return }
        guard contract.parts.allSatisfy({ $0.revocation != nil }) else { return }
        if case .expired = contract.phase { return }
        contract.phase = .revoked
        contract.stopRenewing()
        contract.upcomingOffer = nil
        contract.priceIncrease = nil
        subscription = contract
    }
}
