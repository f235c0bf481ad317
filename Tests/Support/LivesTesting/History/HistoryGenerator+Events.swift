import AppStore
import Randomness
import StoreSimulator

/// The events.
extension HistoryGenerator {
    /// Adds a notification, and sometimes a retry, a retry signed again, or the same content with another UUID.
    mutating func add(_ notification: SimulatedNotification) {
        let first = receive(.notification(notification), after: notification.signedDate)
        if oneIn(8) { receive(.notification(notification), after: notification.signedDate, payloadsOf: first) }
        if oneIn(8) {
            let later = notification.signedDate.advanced(by: .seconds(Int64.random(in: 1...500_000, using: &generator)))
            receive(.notification(notification.resigned(at: later)), after: later, payloadsOf: first)
        }
        if oneIn(notification.type == .consumptionRequest ? 2 : 16) {
            let later = notification.signedDate.advanced(by: .seconds(Int64.random(in: 1...50_000, using: &generator)))
            receive(.notification(notification.repeated(as: generator.uuid(), at: later)), after: later, payloadsOf: first)
        }
    }

    /// Adds an event received up to a week after the signature, often immediately.
    @discardableResult
    mutating func receive(_ content: LifeEvent.Content, after signedDate: Timestamp, payloadsOf first: LifeEvent? = nil)
        -> LifeEvent
    {
        let delay: Duration = oneIn(2) ? .seconds(1) : .seconds(Int64.random(in: 1...157 * 3600, using: &generator))
        return receive(content, at: signedDate.advanced(by: delay), payloadsOf: first)
    }

    @discardableResult
    mutating func receive(_ content: LifeEvent.Content, at instant: Timestamp, payloadsOf first: LifeEvent? = nil) -> LifeEvent {
        let id = Int64(index) * 1000 + Int64(events.count) + 1
        let event =
            if let first { LifeEvent(id: id, receivedAt: instant, content: content, payloadsOf: first) } else {
                LifeEvent(id: id, receivedAt: instant, content: content)
            }
        events.append(event)
        return event
    }

    /// Adds an event whose transaction lacks members; only for answers.
    mutating func receive(_ content: LifeEvent.Content, at instant: Timestamp, without members: Set<String>) {
        let id = Int64(index) * 1000 + Int64(events.count) + 1
        events.append(LifeEvent(id: id, receivedAt: instant, content: content).without(members))
    }

    /// Adds posts of the transaction by users' apps, more often when it has no token.
    mutating func addPosts(about state: PurchaseState, of app: SimulatedApp) {
        guard let dated = state.transaction else { return }
        let count = oneIn(dated.value.appAccountToken == nil ? 2 : 8) ? Int.random(in: 1...2, using: &generator) : 0
        for _ in 0..<count {
            let signedDate =
                oneIn(2) ? dated.signedDate : dated.signedDate.advanced(by: .milliseconds(Int64.random(in: 0...2, using: &generator)))
            let user = oneIn(6) ? nil : users.randomElement(using: &generator)
            let post = ClientPost(transaction: dated.value, signedDate: signedDate, app: app, user: user)
            receive(.post(post), at: postingTime(of: dated.value))
        }
    }

    /// Adds what Apple answers when it is asked in this state: a status, where the charge has one, or a transaction.
    mutating func addAnswer(about state: PurchaseState, of app: SimulatedApp) {
        guard let dated = state.transaction else { return }
        let delay = oneIn(3) ? 0 : Int64.random(in: 1...500_000_000, using: &generator)
        let isStatus = state.status != nil && state.renewalInfo != nil && !oneIn(3)
        let signedDate = dated.signedDate.advanced(by: .milliseconds(delay))
        receive(.element(AnsweredState(state: state, app: app, signedDate: signedDate, isStatus: isStatus)), after: signedDate)
    }

    /// An instant around the end of the posting window or soon after the purchase; several posts may get the same one.
    mutating func postingTime(of transaction: SimulatedTransaction) -> Timestamp {
        let window: Int64 = 72 * 3_600_000
        let delays = [0, 1000, 1000, 60_000, window - 1, window, window + 1, Int64.random(in: 0...2 * window, using: &generator)]
        return transaction.purchaseDate.advanced(by: .milliseconds(delays.randomElement(using: &generator) ?? 0))
    }

    /// Adds a notification that concerns no customer.
    mutating func addAppNotification() {
        var store = SimulatedStore(app: app, seed: generator.next(), now: Self.beginning)
        let notices = [store.test(), store.extensionSummary(), store.externalPurchaseToken(.created)]
        if let notice = notices.randomElement(using: &generator) { add(notice) }
    }

    /// Adds notifications of the kinds that say little or nothing of a charge: some concern no customer, others repeat what was said of one.
    mutating func addNotices() {
        if oneIn(2) {
            var store = SimulatedStore(app: app, seed: generator.next(), now: Self.beginning)
            var life = store.makeCustomer()
            let notices = [
                store.extensionSummary(), store.externalPurchaseToken(.created), store.externalPurchaseToken(.unreported),
                store.externalPurchaseToken(.activeTokenReminder), store.unclaimSeats(2), life.rescindConsent(),
            ]
            if let notice = notices.randomElement(using: &generator) { add(notice) }
        }
        for event in events where event.transaction != nil && oneIn(12) { addNotice(repeating: event) }
    }

    /// The type of the subtypes about seats is not documented.
    private static let noticeKinds: [(type: String, subtype: Subtype?)] = [
        ("DID_CHANGE_RENEWAL_PREF", .increaseQuantity), ("DID_CHANGE_RENEWAL_PREF", .decreaseQuantity),
        ("SEATS_CHANGED", .increaseQuantity),
        ("REFUND", .seats), ("UNCLAIM_SEATS", nil), ("MIGRATION", nil), ("MIGRATE", nil), ("PRICE_CHANGE", nil), ("METADATA_UPDATE", nil),
        ("RENEWAL_EXTENSION", .failure),
    ]

    private mutating func addNotice(repeating event: LifeEvent) {
        guard case .notification(let known) = event.content, let kind = Self.noticeKinds.randomElement(using: &generator) else { return }
        let signedDate = known.signedDate.advanced(by: .seconds(Int64.random(in: 0...500_000, using: &generator)))
        var notice = known.repeated(as: generator.uuid(), at: signedDate)
        (notice.type, notice.subtype) = (NotificationTypeV2(rawValue: kind.type), kind.subtype)
        receive(.notification(notice), after: signedDate, payloadsOf: event)
    }

    /// The transactions in all events.
    var seenTransactions: [(transaction: SimulatedTransaction, app: SimulatedApp)] {
        events.flatMap { event in
            let transactions =
                switch event.content {
                case .notification(let notification): [notification.transaction].compactMap(\.self)
                case .post(let post): [post.transaction]
                case .legacy(let notification): notification.transactions
                case .answer(let answer): answer.transactions ?? []
                case .element(let element): [element.state.transaction?.value].compactMap(\.self)
                // Receipts have no tokens.
                case .receipt, .unanswered, .appTransaction: [SimulatedTransaction]()
                }
            return transactions.map { ($0, event.app) }
        }
    }
}
