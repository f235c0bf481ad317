import AppStore
import FoundationEssentials
import Ledger
import Randomness
import StoreSimulator

/// What Apple says rarely, made from simulated notifications: copies, moved refunds, statements without members, charges that move.
extension HistoryGenerator {
    mutating func addRarities() {
        var seen: Set<String> = []
        var contracts: [(environment: AppStoreEnvironment, id: String)] = []
        for event in events {
            guard case .notification(let notification) = event.content, let charge = notification.transaction else { continue }
            if notification.type == .didFailToRenew, oneIn(4) { addGraceWithoutDate(notification) }
            guard seen.insert("\(notification.app.environment.rawValue) \(charge.transactionID)").inserted else { continue }
            let isForGood = charge.webOrderLineItemID == nil && charge.product.type != .consumable
            if isForGood ? !oneIn(2) : charge.webOrderLineItemID != nil && oneIn(10) { addCopies(of: charge, notification) }
            if oneIn(10) { addMovingRefund(of: charge, notification) }
            if oneIn(8) { addStatementWithoutMembers(notification) }
            if oneIn(8) { addLatePost(of: charge, notification) }
            if oneIn(40) { addMove(of: charge, notification) }
            if charge.expiresDate != nil {
                if oneIn(12) { addMigration(of: charge, from: contracts, notification) }
                contracts.append((notification.app.environment, charge.originalTransactionID))
            }
            if charge.expiresDate != nil, oneIn(10) { addEarlyRenewalWithUpgrade(of: charge, notification) }
        }
    }

    /// One or two copies, with the same token, another or none. Each may be refunded.
    private mutating func addCopies(of charge: SimulatedTransaction, _ notification: SimulatedNotification) {
        for _ in 0..<Int.random(in: 1...2, using: &generator) {
            var copy = charge
            copy.transactionID = laterNumber(than: charge.transactionID)
            let tokens: [UUID?] = [charge.appAccountToken, nil, generator.uuid()]
            copy.appAccountToken = tokens.randomElement(using: &generator) ?? nil
            if charge.webOrderLineItemID == nil { copy.purchaseDate = laterDate(than: charge.purchaseDate).inWholeSeconds }
            state(copy, like: notification)
            if oneIn(4) { addMovingRefund(of: copy, notification) }
        }
    }

    /// A refund whose date moves, sometimes with a reversal between the dates.
    private mutating func addMovingRefund(of charge: SimulatedTransaction, _ notification: SimulatedNotification) {
        guard charge.ownership == .purchased, !charge.isUpgraded else { return }
        var date = laterDate(than: charge.purchaseDate)
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            var refunded = charge
            refunded.revocation = .refund(at: date)
            state(refunded, like: notification, as: .refund, from: date)
            if oneIn(3) {
                let reversal = laterDate(than: date)
                state(charge, like: notification, as: .refundReversed, from: reversal)
                if oneIn(2) { date = reversal }
            }
            date = laterDate(than: date)
        }
    }

    /// A newer answer that lacks members that cannot change.
    private mutating func addStatementWithoutMembers(_ notification: SimulatedNotification) {
        guard var state = notification.state, let dated = state.transaction else { return }
        state.transaction?.signedDate = laterDate(than: dated.signedDate)
        let all = ["price", "currency", "quantity", "storefront", "storefrontId", "type", "transactionReason", "offerType"]
        let members = all.filter { _ in oneIn(2) }
        let signedDate = state.transaction?.signedDate ?? dated.signedDate
        let answer = AnsweredState(state: state, app: notification.app, signedDate: signedDate, isStatus: false)
        receive(.element(answer), at: signedDate, without: Set(members))
    }

    /// A post long after the purchase, sometimes with a version 5 token.
    private mutating func addLatePost(of charge: SimulatedTransaction, _ notification: SimulatedNotification) {
        var posted = charge
        if oneIn(4) { posted.appAccountToken = .init(notification: "token \(generator.next())") }
        let signedDate = laterDate(than: charge.purchaseDate.advanced(by: .seconds(72 * 3600)))
        let user = users.randomElement(using: &generator)
        receive(.post(ClientPost(transaction: posted, signedDate: signedDate, app: notification.app, user: user)), after: signedDate)
    }

    /// A newer statement that names another product. Moves between contracts and periods have tests of their own: a refund keeps the name of the
    /// purchase that it was first told for.
    private mutating func addMove(of charge: SimulatedTransaction, _ notification: SimulatedNotification) {
        var moved = charge
        moved.product.id += ".moved"
        state(moved, like: notification)
    }

    /// A statement that the contract was another one before, which is known or not.
    private mutating func addMigration(
        of charge: SimulatedTransaction,
        from contracts: [(environment: AppStoreEnvironment, id: String)],
        _ notification: SimulatedNotification
    ) {
        let id = charge.originalTransactionID
        let earlier = contracts.filter { $0.environment == notification.app.environment && (UInt64($0.id) ?? 0) < (UInt64(id) ?? 0) }
        var migrated = charge
        migrated.previousOriginalTransactionID = oneIn(6) ? nil : earlier.randomElement(using: &generator)?.id
        migrated.previousOriginalTransactionID = migrated.previousOriginalTransactionID ?? earlierNumber(than: id)
        state(migrated, like: notification, as: oneIn(2) ? .migration : nil)
    }

    /// A renewal charged before the running period ends, and an upgrade bought before it begins.
    private mutating func addEarlyRenewalWithUpgrade(of charge: SimulatedTransaction, _ notification: SimulatedNotification) {
        guard let end = charge.expiresDate, let lineItem = charge.webOrderLineItemID else { return }
        var renewal = charge
        renewal.transactionID = laterNumber(than: charge.transactionID)
        renewal.webOrderLineItemID = laterNumber(than: lineItem)
        (renewal.purchaseDate, renewal.expiresDate, renewal.reason) = (end, end.advanced(by: .seconds(30 * 86_400)), .renewal)
        state(renewal, like: notification, as: .didRenew, from: end.advanced(by: .seconds(-50_000)))
        var upgrade = renewal
        upgrade.transactionID = laterNumber(than: renewal.transactionID)
        upgrade.webOrderLineItemID = laterNumber(than: lineItem)
        upgrade.product.id += ".upgrade"
        upgrade.purchaseDate = end.advanced(by: .seconds(-20_000))
        upgrade.reason = .purchase
        let product = oneIn(2) ? renewal.product.id : upgrade.product.id
        state(upgrade, like: notification, as: .didChangeRenewalPref, from: upgrade.purchaseDate, renewing: product)
        if oneIn(2) {
            renewal.isUpgraded = true
            state(renewal, like: notification)
        }
    }

    private mutating func addGraceWithoutDate(_ notification: SimulatedNotification) {
        guard var state = notification.state, state.renewalInfo != nil else { return }
        state.status = .billingGracePeriod
        state.renewalInfo?.value.gracePeriodExpiresDate = nil
        var without = notification
        without.content = .data(state)
        without.notificationUUID = generator.uuid()
        receive(.notification(without), after: notification.signedDate)
    }

    /// States a charge in a notification, an answer or a post.
    private mutating func state(
        _ charge: SimulatedTransaction,
        like notification: SimulatedNotification,
        as type: NotificationTypeV2? = nil,
        from date: Timestamp? = nil,
        renewing product: String? = nil
    ) {
        guard var state = notification.state else { return }
        let signedDate = date ?? laterDate(than: charge.purchaseDate)
        state.transaction?.value = charge
        state.transaction?.signedDate = signedDate
        if let product {
            state.renewalInfo?.value.productID = product
            state.renewalInfo?.signedDate = signedDate
        } else {
            (state.renewalInfo, state.status) = (nil, nil)
        }
        if let type {
            var stated = notification.repeated(as: generator.uuid(), at: signedDate)
            (stated.type, stated.subtype, stated.content) = (type, nil, .data(state))
            receive(.notification(stated), after: signedDate)
        } else if oneIn(2) {
            let user = users.randomElement(using: &generator)
            receive(.post(ClientPost(transaction: charge, signedDate: signedDate, app: notification.app, user: user)), after: signedDate)
        } else {
            let answer = AnsweredState(state: state, app: notification.app, signedDate: signedDate, isStatus: false)
            receive(.element(answer), after: signedDate)
        }
    }

    mutating func laterDate(than date: Timestamp) -> Timestamp {
        date.advanced(by: .milliseconds(Int64.random(in: 1...2_000_000_000, using: &generator)))
    }

    /// The number before all of the same history and customer.
    private func earlierNumber(than number: String) -> String { String((UInt64(number) ?? 0) % Self.numberStep) }

    /// A number of the same history and customer, which no simulated charge has.
    private mutating func laterNumber(than number: String) -> String {
        String((UInt64(number) ?? 0) + Self.numberStep * UInt64.random(in: 100_000...900_000, using: &generator))
    }
}
