import AppStore
import StoreSimulator

/// The state from which receipts, answers and notifications V1 about one customer are generated.
struct LegacyContext {
    /// The store's state of the customer at one moment.
    struct Snapshot {
        /// Those of the contract that the event is about come last.
        let transactions: [SimulatedTransaction]
        /// That of the contract that the event is about comes first.
        let renewals: [SimulatedRenewalInfo]
        let status: Status?
    }

    /// Whether revocation dates in JWS have milliseconds; in receipts they never do.
    let hasFractions: Bool
    var snapshots: [Snapshot] = []
    var receipts: [LifeReceipt] = []
    /// The instants at which automatic renewal was turned on or off.
    var changes: [Timestamp] = []
}

/// The events of the original App Store API.
extension HistoryGenerator {
    /// Adds receipts, answers and notifications V1 about the state after a notification V2, or about an older state.
    ///
    /// - Parameter others: the same customer's subscriptions in other groups.
    mutating func addLegacyEvents(
        after notification: SimulatedNotification,
        in life: CustomerLife,
        beside others: [CustomerLife],
        _ previous: LegacyContext
    ) throws -> LegacyContext {
        var context = previous
        // Consumables disappear from receipts when the app finishes them.
        let keepsConsumables = oneIn(2)
        let oneTimeCharges = life.oneTimeCharges.filter { keepsConsumables || $0.product.type != .consumable }
        // The other subscriptions have their own clocks: exclude what begins later. A charge may be a day ahead of its period.
        let tomorrow = notification.signedDate.advanced(by: .seconds(86_400))
        let beside = others.flatMap { $0.oneTimeCharges + ($0.subscription?.transactions ?? []) }.filter { $0.purchaseDate <= tomorrow }
        let begun = others.compactMap(\.subscription).filter { $0.originalPurchaseDate <= tomorrow }
        context.snapshots.append(
            LegacyContext.Snapshot(
                transactions: beside + oneTimeCharges + (life.subscription?.transactions ?? []),
                renewals: ([life.subscription].compactMap(\.self) + begun).map(\.renewalInfo),
                status: life.subscription?.status
            )
        )
        if oneIn(2) { try addLegacyNotification(after: notification, &context) }
        if oneIn(12) { try addNeighboursNotification(after: notification, context) }
        // Only the JWS of a recovered charge shows that it is a renewal.
        if notification.subtype == .billingRecovery || oneIn(3) { try addReceiptPosts(after: notification, &context) }
        if oneIn(3) { try addAnswer(after: notification, &context) }
        if oneIn(6) { addPostInReceiptSecond(of: notification.app, context) }
        return context
    }

    /// Events that random histories rarely have and that the original API reports in its own way: a failed renewal with a grace period,
    /// and a
    /// refund during the grace period.
    mutating func billingFailure(_ life: inout CustomerLife) throws -> SimulatedNotification? {
        guard let subscription = life.subscription else { return nil }
        switch subscription.phase {
        case .active where subscription.willRenew && !subscription.awaitsConsent && oneIn(6):
            return try life.failToRenew(withGracePeriod: true)
        case .gracePeriod where subscription.current.isRefundable && oneIn(2):
            return try life.refund()
        default:
            return nil
        }
    }

    /// The store's current state, or sometimes an older one that it still reports as current: most often that of a grace period whose
    /// charge
    /// was refunded.
    private mutating func snapshot(_ context: LegacyContext) -> LegacyContext.Snapshot {
        if context.snapshots.last?.status == .revoked, oneIn(2),
            let grace = context.snapshots.last(where: { $0.status == .billingGracePeriod })
        {
            return grace
        }
        let stale = oneIn(8) ? context.snapshots.randomElement(using: &generator) : nil
        return stale ?? context.snapshots.last ?? LegacyContext.Snapshot(transactions: [], renewals: [], status: nil)
    }

    /// A new receipt or a previous one; some lack entries or product types.
    private mutating func receipt(
        of app: SimulatedApp,
        at instant: Timestamp,
        _ snapshot: LegacyContext.Snapshot,
        _ context: inout LegacyContext
    ) throws -> LifeReceipt {
        if oneIn(6), let older = context.receipts.randomElement(using: &generator) { return older }
        var transactions = snapshot.transactions
        if oneIn(8) { transactions.removeAll { _ in oneIn(3) } }
        var receipt = SimulatedReceipt.receipt(of: app, holding: transactions, madeAt: instant)
        if oneIn(4) {
            for index in receipt.purchases.indices { receipt.purchases[index].productType = nil }
        }
        let signed = try sign(receipt)
        context.receipts.append(signed)
        return signed
    }

    private mutating func layout(_ renewal: SimulatedRenewalInfo?, isBody: Bool) -> LegacyLayout {
        var layout: LegacyLayout = []
        if oneIn(3) { layout.insert(.withoutUpgrades) }
        if oneIn(3) { layout.insert(.withoutOwnership) }
        if isBody, renewal != nil, oneIn(4) { layout.insert(.renewalOutside) }
        if isBody, oneIn(8) { layout.insert(.withoutBundle) }
        return layout
    }

    private mutating func addLegacyNotification(after notification: SimulatedNotification, _ context: inout LegacyContext) throws {
        let now = notification.signedDate
        let type = legacyType(of: notification)
        let snapshot = snapshot(context)
        var receipt = try receipt(of: notification.app, at: now, snapshot, &context)
        if oneIn(4) { receipt = try corrupt(receipt) }
        var answer = VerifyReceiptAnswer(
            app: notification.app,
            receipt: receipt.receipt,
            requestDate: now,
            transactions: snapshot.transactions
        )
        answer.renewals = snapshot.renewals
        answer.latestReceipt = receipt.sentText
        let isChange = type == .didChangeRenewalStatus && !oneIn(8)
        if isChange { context.changes.append(now) }
        // For a contract in another group the change may lie in the future.
        let older = oneIn(3) ? context.changes.randomElement(using: &generator) : nil
        let renewal = snapshot.renewals.first
        var layout = layout(renewal, isBody: true)
        let namedID = namedID(type, notification, renewal)
        // The body's own members are about the contract that it names.
        if let namedID, namedID != renewal?.originalTransactionID { layout.remove(.renewalOutside) }
        var legacy = LegacyNotification(
            type,
            answer,
            receipt: receipt,
            changeDate: isChange || oneIn(12) ? now : older,
            namedID: namedID,
            layout: layout,
            firstEntry: snapshot.renewals.indices.randomElement(using: &generator) ?? 0
        )
        receive(.legacy(legacy), after: now)
        while oneIn(4) {
            legacy.variant = Int.random(in: 0...5, using: &generator)
            receive(.legacy(legacy), after: now)
        }
    }

    /// Adds a body about the customer's contracts with the shared secret of another app, which has no effect on them.
    private mutating func addNeighboursNotification(after notification: SimulatedNotification, _ context: LegacyContext) throws {
        var app = notification.app
        (app.bundleID, app.appAppleID) = (Self.neighbourBundleID, nil)
        let now = notification.signedDate.advanced(by: .seconds(Int64.random(in: 0...86_400, using: &generator)))
        let snapshot = context.snapshots.randomElement(using: &generator) ?? snapshot(context)
        var receipt = try sign(SimulatedReceipt.receipt(of: app, holding: [], madeAt: now))
        if oneIn(2) {
            receipt = LifeReceipt(receipt: receipt.receipt, text: receipt.text, state: .missing)
        } else if oneIn(2), let own = context.receipts.randomElement(using: &generator) {
            receipt = LifeReceipt(receipt: own.receipt, text: own.text, state: .foreign)
        }
        var answer = VerifyReceiptAnswer(app: app, receipt: receipt.receipt, requestDate: now, transactions: snapshot.transactions)
        answer.renewals = snapshot.renewals
        answer.latestReceipt = receipt.sentText
        var layout = layout(snapshot.renewals.first, isBody: true)
        // Without `bid` the body would belong to the receipt's app.
        if !receipt.isGenuine { layout.remove(.withoutBundle) }
        let types: [NotificationTypeV1] = [.didChangeRenewalStatus, .didFailToRenew, .refund, .cancel, .didRenew]
        let legacy = LegacyNotification(
            types.randomElement(using: &generator) ?? .didRenew,
            answer,
            receipt: receipt,
            changeDate: oneIn(4) ? nil : now,
            namedID: oneIn(2) ? snapshot.renewals.first?.originalTransactionID : nil,
            layout: layout
        )
        receive(.legacy(legacy), after: now)
    }

    private mutating func namedID(
        _ type: NotificationTypeV1,
        _ notification: SimulatedNotification,
        _ renewal: SimulatedRenewalInfo?
    ) -> String? {
        if type == .consumptionRequest {
            return oneIn(3) ? nil : oneIn(2) ? notification.transactionID : notification.originalTransactionID
        }
        return oneIn(5) ? renewal?.originalTransactionID : nil
    }

    /// The corresponding type of notifications V1, or sometimes another one.
    private mutating func legacyType(of notification: SimulatedNotification) -> NotificationTypeV1 {
        let counterpart: NotificationTypeV1? =
            switch (notification.type, notification.subtype) {
            case (.subscribed, .initialBuy): .initialBuy
            case (.subscribed, _), (.didChangeRenewalPref, .upgrade): .interactiveRenewal
            case (.didRenew, .billingRecovery): oneIn(2) ? .didRecover : .renewal
            case (.didRenew, _): .didRenew
            case (.didFailToRenew, _): .didFailToRenew
            case (.didChangeRenewalStatus, _): .didChangeRenewalStatus
            case (.didChangeRenewalPref, _): .didChangeRenewalPref
            case (.priceIncrease, _): .priceIncreaseConsent
            case (.refund, _): oneIn(3) ? .cancel : .refund
            case (.revoke, _): .revoke
            case (.consumptionRequest, _): .consumptionRequest
            default: nil
            }
        if oneIn(30) { return NotificationTypeV1(rawValue: "OLD_TYPE") }
        if let counterpart, !oneIn(8) { return counterpart }
        return NotificationTypeV1.documented.randomElement(using: &generator) ?? .didRenew
    }

    /// Adds posts of a receipt: after the purchase that it names, or at any time, for a restore.
    private mutating func addReceiptPosts(after notification: SimulatedNotification, _ context: inout LegacyContext) throws {
        let snapshot = snapshot(context)
        var receipt = try receipt(of: notification.app, at: notification.signedDate, snapshot, &context)
        if oneIn(8) { receipt = try corrupt(receipt, asPost: true) }
        for _ in 0..<Int.random(in: 1...2, using: &generator) {
            let isLate = notification.subtype == .billingRecovery
            let bought = isLate || oneIn(2) ? snapshot.transactions.last : snapshot.transactions.randomElement(using: &generator)
            let post = ReceiptPost(
                receipt: receipt,
                app: notification.app,
                user: users.randomElement(using: &generator) ?? "",
                transactionID: oneIn(3) ? nil : oneIn(12) ? "1\(bought?.transactionID ?? "")" : bought?.transactionID
            )
            if let bought, !oneIn(4) {
                receive(.receipt(post), at: postingTime(of: bought))
            } else {
                receive(.receipt(post), after: notification.signedDate)
            }
            if post.needsAppleAnswer, oneIn(3) { receive(.unanswered(receipt, post.app), after: notification.signedDate) }
        }
    }

    /// Adds an answer about a receipt, requested at the instant of a signature or at any time.
    private mutating func addAnswer(after notification: SimulatedNotification, _ context: inout LegacyContext) throws {
        let now = notification.signedDate
        let snapshot = snapshot(context)
        let receipt = try receipt(of: notification.app, at: now, snapshot, &context)
        let later = now.advanced(by: .milliseconds(Int64.random(in: 0...500_000_000, using: &generator)))
        let dates = [
            now, now.inWholeSeconds, notification.state?.renewalInfo?.signedDate, notification.state?.transaction?.signedDate, later,
            later,
        ]
        var answer = VerifyReceiptAnswer(
            app: notification.app,
            receipt: receipt.receipt,
            requestDate: dates.compactMap(\.self).randomElement(using: &generator) ?? now,
            transactions: oneIn(6) ? nil : snapshot.transactions
        )
        answer.renewals = snapshot.renewals.shuffled(using: &generator)
        var latest = oneIn(2) ? try self.receipt(of: notification.app, at: answer.requestDate, snapshot, &context) : nil
        if oneIn(6) { latest = try latest.map { try corrupt($0) } }
        answer.latestReceipt = latest?.sentText
        let about = AnsweredReceipt(answer, about: receipt, latest: latest, layout: layout(snapshot.renewals.first, isBody: false))
        receive(.answer(about), after: answer.requestDate)
    }

    /// Adds a post of a transaction that was signed in the second in which a receipt was made.
    private mutating func addPostInReceiptSecond(of app: SimulatedApp, _ context: LegacyContext) {
        guard let receipt = context.receipts.last, var transaction = snapshot(context).transactions.randomElement(using: &generator) else {
            return
        }
        if context.hasFractions { transaction.addFraction() }
        let user = oneIn(3) ? users.randomElement(using: &generator) : nil
        let post = ClientPost(transaction: transaction, signedDate: receipt.madeAt, app: app, user: user)
        receive(.post(post), at: postingTime(of: transaction))
    }
}

extension SimulatedNotification {
    /// See ``LegacyContext/hasFractions``.
    mutating func addFraction() {
        guard var state else { return }
        state.transaction?.value.addFraction()
        content = .data(state)
    }
}

extension SimulatedTransaction {
    /// Adds milliseconds that depend only on the charge.
    fileprivate mutating func addFraction() {
        guard let date = revocation?.date else { return }
        let fraction = transactionID.utf8.reduce(7) { ($0 * 31 + Int64($1)) % 1000 }
        revocation?.date = date.inWholeSeconds.advanced(by: .milliseconds(fraction))
    }
}
