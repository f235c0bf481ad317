import AppStore
import Randomness
import StoreSimulator

/// What is at hand for receipts, answers and notifications V1 about one customer.
struct LegacyShelf {
    /// What the store knows of the customer at one moment.
    struct Snapshot {
        /// Those of the contract that is told of come last.
        let transactions: [SimulatedTransaction]
        /// That of the contract that is told of comes first.
        let renewals: [SimulatedRenewalInfo]
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
    ///
    /// - Parameter others: what the same customer has in other subscription groups.
    mutating func addLegacyEvents(
        after notification: SimulatedNotification,
        in life: CustomerLife,
        beside others: [CustomerLife],
        _ told: LegacyShelf
    ) throws -> LegacyShelf {
        var shelf = told
        // Consumables leave receipts when the app has finished with them.
        let keepsConsumables = oneIn(2)
        let once = life.oneTimeCharges.filter { keepsConsumables || $0.product.type != .consumable }
        // What goes on beside has a clock of its own; what will be bought is not told of. A charge may be a day ahead of its period.
        let tomorrow = notification.signedDate.advanced(by: .seconds(86_400))
        let beside = others.flatMap { $0.oneTimeCharges + ($0.subscription?.transactions ?? []) }.filter { $0.purchaseDate <= tomorrow }
        let begun = others.compactMap(\.subscription).filter { $0.originalPurchaseDate <= tomorrow }
        shelf.snapshots.append(
            LegacyShelf.Snapshot(
                transactions: beside + once + (life.subscription?.transactions ?? []),
                renewals: ([life.subscription].compactMap(\.self) + begun).map(\.renewalInfo),
                status: life.subscription?.status
            )
        )
        if oneIn(2) { try addLegacyNotification(after: notification, &shelf) }
        if oneIn(12) { try addNeighboursNotification(after: notification, shelf) }
        // Of a charge that was late nothing but its JWS says that nobody's app made it.
        if notification.subtype == .billingRecovery || oneIn(3) { try addReceiptPosts(after: notification, &shelf) }
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
        return stale ?? shelf.snapshots.last ?? LegacyShelf.Snapshot(transactions: [], renewals: [], status: nil)
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
        if isBody, oneIn(8) { layout.insert(.withoutBundle) }
        return layout
    }

    private mutating func addLegacyNotification(after notification: SimulatedNotification, _ shelf: inout LegacyShelf) throws {
        let now = notification.signedDate
        let type = legacyType(of: notification)
        let snapshot = snapshot(shelf)
        var receipt = try receipt(of: notification.app, at: now, snapshot, &shelf)
        if oneIn(4) { receipt = try spoil(receipt) }
        var answer = VerifyReceiptAnswer(
            app: notification.app,
            receipt: receipt.receipt,
            requestDate: now,
            transactions: snapshot.transactions
        )
        answer.renewals = snapshot.renewals
        answer.latestReceipt = receipt.sentText
        let isChange = type == .didChangeRenewalStatus && !oneIn(8)
        if isChange { shelf.changes.append(now) }
        // Of a contract in another group it may even be yet to come.
        let older = oneIn(3) ? shelf.changes.randomElement(using: &generator) : nil
        let renewal = snapshot.renewals.first
        var layout = layout(renewal, isBody: true)
        let namedID = namedID(type, notification, renewal)
        // What the body says itself it says of the contract that it names.
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
            legacy.spelling = Int.random(in: 0...5, using: &generator)
            receive(.legacy(legacy), after: now)
        }
    }

    /// A body about the customer's contracts that the secret of another app vouches for: its word counts for nothing here.
    private mutating func addNeighboursNotification(after notification: SimulatedNotification, _ shelf: LegacyShelf) throws {
        var app = notification.app
        (app.bundleID, app.appAppleID) = (Self.neighbourBundleID, nil)
        let now = notification.signedDate.advanced(by: .seconds(Int64.random(in: 0...86_400, using: &generator)))
        let snapshot = shelf.snapshots.randomElement(using: &generator) ?? snapshot(shelf)
        var receipt = try sign(SimulatedReceipt.receipt(of: app, holding: [], madeAt: now))
        if oneIn(2) {
            receipt = LifeReceipt(receipt: receipt.receipt, text: receipt.text, state: .missing)
        } else if oneIn(2), let own = shelf.receipts.randomElement(using: &generator) {
            receipt = LifeReceipt(receipt: own.receipt, text: own.text, state: .foreign)
        }
        var answer = VerifyReceiptAnswer(app: app, receipt: receipt.receipt, requestDate: now, transactions: snapshot.transactions)
        answer.renewals = snapshot.renewals
        answer.latestReceipt = receipt.sentText
        var layout = layout(snapshot.renewals.first, isBody: true)
        // Without a name it would be the receipt's app's.
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
        var receipt = try receipt(of: notification.app, at: notification.signedDate, snapshot, &shelf)
        if oneIn(8) { receipt = try spoil(receipt, asPost: true) }
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
            if post.isAskedAbout, oneIn(3) { receive(.unanswered(receipt, post.app), after: notification.signedDate) }
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
        answer.renewals = snapshot.renewals.shuffled(using: &generator)
        var latest = oneIn(2) ? try self.receipt(of: notification.app, at: answer.requestDate, snapshot, &shelf) : nil
        if oneIn(6) { latest = try latest.map { try spoil($0) } }
        answer.latestReceipt = latest?.sentText
        let about = AnsweredReceipt(answer, about: receipt, latest: latest, layout: layout(snapshot.renewals.first, isBody: false))
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
