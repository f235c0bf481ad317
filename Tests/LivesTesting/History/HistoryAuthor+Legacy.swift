import AppStore
import Randomness
import StoreSimulator

/// What is at hand for receipts, answers and notifications V1 about one customer.
struct LegacyShelf {
    /// What the store knows of the customer at one moment.
    struct Snapshot {
        let transactions: [SimulatedTransaction]
        let renewal: SimulatedRenewalInfo?
        let status: Status?
    }

    /// Whether what the store signs as JWS has dates of revocation with milliseconds, which receipts never have.
    let hasFractions: Bool
    var snapshots: [Snapshot] = []
    var receipts: [LifeReceipt] = []
    /// When automatic renewal was turned on or off.
    var changes: [Timestamp] = []
}

/// What comes in from the old App Store.
extension HistoryAuthor {
    /// Receipts, answers and notifications V1 about the state after a notification V2, or about one before it.
    mutating func addLegacyEvents(
        after notification: SimulatedNotification,
        in life: CustomerLife,
        _ told: LegacyShelf
    ) throws -> LegacyShelf {
        var shelf = told
        // Consumables leave receipts when the app has finished with them.
        let keepsConsumables = oneIn(2)
        let once = life.oneTimeCharges.filter { keepsConsumables || $0.product.type != .consumable }
        let transactions = once + (life.subscription?.transactions ?? [])
        shelf.snapshots.append(
            LegacyShelf.Snapshot(
                transactions: transactions,
                renewal: life.subscription?.renewalInfo,
                status: life.subscription?.status
            )
        )
        if oneIn(2) { try addLegacyNotification(after: notification, &shelf) }
        if oneIn(3) { try addReceiptPosts(after: notification, &shelf) }
        if oneIn(3) { try addAnswer(after: notification, &shelf) }
        if oneIn(6) { addPostOfThatSecond(of: notification.app, shelf) }
        return shelf
    }

    /// What is rare in a life left to itself and told of by the old App Store in a way of its own: days of grace for a charge that
    /// failed, and then the money back for what they were given for.
    mutating func misfortune(_ life: inout CustomerLife) throws -> SimulatedNotification? {
        guard let subscription = life.subscription else { return nil }
        switch subscription.phase {
        case .active where subscription.autoRenews && !subscription.awaitsConsent && oneIn(6):
            return try life.failToRenew(withGracePeriod: true)
        case .gracePeriod where subscription.current.price != nil && subscription.current.revocation == nil && oneIn(2):
            return try life.refund()
        default:
            return nil
        }
    }

    /// What the store has now; seldom it is behind the times, and then says of now what was true before: most of all of days of grace, when
    /// what they were given for was taken back.
    private mutating func snapshot(_ shelf: LegacyShelf) -> LegacyShelf.Snapshot {
        if shelf.snapshots.last?.status == .revoked, oneIn(2), let grace = shelf.snapshots.last(where: { $0.status == .billingGracePeriod })
        {
            return grace
        }
        let stale = oneIn(8) ? shelf.snapshots.randomElement(using: &generator) : nil
        return stale ?? shelf.snapshots.last ?? LegacyShelf.Snapshot(transactions: [], renewal: nil, status: nil)
    }

    /// A receipt made now, or an older one that was kept; not all of them have what others have.
    private mutating func receipt(
        of app: SimulatedApp,
        at instant: Timestamp,
        _ snapshot: LegacyShelf.Snapshot,
        _ shelf: inout LegacyShelf
    ) throws -> LifeReceipt {
        if oneIn(6), let older = shelf.receipts.randomElement(using: &generator) { return older }
        var transactions = snapshot.transactions
        if oneIn(8) { transactions.removeAll { _ in oneIn(3) } }
        var receipt = SimulatedReceipt.receipt(of: app, holding: transactions, madeAt: instant)
        if oneIn(4) {
            for index in receipt.purchases.indices { receipt.purchases[index].productType = nil }
        }
        let signed = try sign(receipt)
        shelf.receipts.append(signed)
        return signed
    }

    private mutating func layout(_ renewal: SimulatedRenewalInfo?, isBody: Bool) -> LegacyLayout {
        var layout: LegacyLayout = []
        if oneIn(3) { layout.insert(.withoutUpgrades) }
        if oneIn(3) { layout.insert(.withoutOwnership) }
        if isBody, renewal != nil, oneIn(4) { layout.insert(.renewalOutside) }
        return layout
    }

    private mutating func addLegacyNotification(after notification: SimulatedNotification, _ shelf: inout LegacyShelf) throws {
        let now = notification.signedDate
        let type = legacyType(of: notification)
        let snapshot = snapshot(shelf)
        let receipt = try receipt(of: notification.app, at: now, snapshot, &shelf)
        var answer = VerifyReceiptAnswer(
            app: notification.app,
            receipt: receipt.receipt,
            requestDate: now,
            transactions: snapshot.transactions
        )
        answer.renewals = snapshot.renewal.map { [$0] } ?? []
        answer.latestReceipt = receipt.text
        let isChange = type == .didChangeRenewalStatus && !oneIn(8)
        if isChange { shelf.changes.append(now) }
        let older = oneIn(3) ? shelf.changes.randomElement(using: &generator) : nil
        var layout = layout(snapshot.renewal, isBody: true)
        let namedID = namedID(type, notification, snapshot.renewal)
        // What the body says itself it says of the contract that it names.
        if let namedID, namedID != snapshot.renewal?.originalTransactionID { layout.remove(.renewalOutside) }
        var legacy = LegacyNotification(
            type,
            answer,
            receipt: receipt,
            changeDate: isChange || oneIn(12) ? now : older,
            namedID: namedID,
            layout: layout
        )
        receive(.legacy(legacy), after: now)
        while oneIn(4) {
            legacy.spelling = Int.random(in: 0...5, using: &generator)
            receive(.legacy(legacy), after: now)
        }
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

    /// The type that says the same in notifications V1; some other one where there is none, and now and then.
    private mutating func legacyType(of notification: SimulatedNotification) -> NotificationTypeV1 {
        let twin: NotificationTypeV1? =
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
        if oneIn(30) { return NotificationTypeV1(rawValue: "YESTERDAY") }
        if let twin, !oneIn(8) { return twin }
        return NotificationTypeV1.documented.randomElement(using: &generator) ?? .didRenew
    }

    /// Somebody's app hands a receipt over: after the purchase that it names, or at any time, when it restores what was bought.
    private mutating func addReceiptPosts(after notification: SimulatedNotification, _ shelf: inout LegacyShelf) throws {
        let snapshot = snapshot(shelf)
        let receipt = try receipt(of: notification.app, at: notification.signedDate, snapshot, &shelf)
        for _ in 0..<Int.random(in: 1...2, using: &generator) {
            let bought = oneIn(2) ? snapshot.transactions.last : snapshot.transactions.randomElement(using: &generator)
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
        }
    }

    /// Asked at the very instant that something was signed, or at any time.
    private mutating func addAnswer(after notification: SimulatedNotification, _ shelf: inout LegacyShelf) throws {
        let now = notification.signedDate
        let snapshot = snapshot(shelf)
        let receipt = try receipt(of: notification.app, at: now, snapshot, &shelf)
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
        answer.renewals = snapshot.renewal.map { [$0] } ?? []
        let latest = oneIn(2) ? try self.receipt(of: notification.app, at: answer.requestDate, snapshot, &shelf) : nil
        answer.latestReceipt = latest?.text
        let about = AnsweredReceipt(answer, about: receipt, latest: latest, layout: layout(snapshot.renewal, isBody: false))
        receive(.answer(about), after: answer.requestDate)
    }

    /// A transaction that was signed in the second in which a receipt was made.
    private mutating func addPostOfThatSecond(of app: SimulatedApp, _ shelf: LegacyShelf) {
        guard let receipt = shelf.receipts.last, var transaction = snapshot(shelf).transactions.randomElement(using: &generator) else {
            return
        }
        if shelf.hasFractions { transaction.addFraction() }
        let user = oneIn(3) ? users.randomElement(using: &generator) : nil
        let post = ClientPost(transaction: transaction, signedDate: receipt.madeAt, app: app, user: user)
        receive(.post(post), at: postingTime(of: transaction))
    }
}

extension SimulatedNotification {
    /// See ``LegacyShelf/hasFractions``.
    mutating func addFraction() {
        guard var state else { return }
        state.transaction?.value.addFraction()
        content = .data(state)
    }
}

extension SimulatedTransaction {
    /// Milliseconds that depend on nothing but the charge.
    fileprivate mutating func addFraction() {
        guard let date = revocation?.date else { return }
        let fraction = transactionID.utf8.reduce(7) { ($0 * 31 + Int64($1)) % 1000 }
        revocation?.date = date.inWholeSeconds.advanced(by: .milliseconds(fraction))
    }
}
