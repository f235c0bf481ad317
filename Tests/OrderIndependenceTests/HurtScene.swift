import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LivesTesting
import Postgres
import StoreSimulator

/// One customer of a shop, and the books that are kept of him.
struct HurtScene {
    let hall: BookHall
    var life: CustomerLife
    private var lastEvent: Int64 = 0

    init(hall: BookHall, environment: AppStoreEnvironment = .production) {
        self.hall = hall
        var app = HistoryAuthor.app
        app.environment = environment
        var store = SimulatedStore(app: app, seed: 1, now: Timestamp(millisecondsSince1970: 1_600_000_000_000))
        life = store.makeCustomer()
    }

    static func play(_ body: (inout HurtScene) async throws -> Void) async throws {
        let hall = try await BookHall.open()
        var scene = HurtScene(hall: hall)
        try await body(&scene)
        try await hall.close()
    }

    /// A notification as it came in, one second after it was signed.
    mutating func event(_ notification: SimulatedNotification) -> LifeEvent {
        event(.notification(notification), at: notification.signedDate.advanced(by: .seconds(1)))
    }

    mutating func event(_ content: LifeEvent.Content, at receivedAt: Timestamp) -> LifeEvent {
        lastEvent += 1
        return LifeEvent(id: lastEvent, receivedAt: receivedAt, content: content)
    }

    /// What the customer's app hands over of a notification's transaction, so long after the purchase.
    mutating func post(_ notification: SimulatedNotification, by user: String, after delay: Duration) throws -> LifeEvent {
        guard let dated = notification.state?.transaction else { throw NothingToPost() }
        let post = LivesTesting.ClientPost(transaction: dated.value, signedDate: dated.signedDate, app: notification.app, user: user)
        return event(.post(post), at: dated.value.purchaseDate.advanced(by: delay))
    }

    /// Merges notifications, each in a batch of its own, in this order.
    mutating func take(_ notifications: SimulatedNotification...) async throws {
        for notification in notifications { try await take(event(notification)) }
    }

    func take(_ event: LifeEvent) async throws {
        try await hall.process(try UnsignedFacts.facts(of: [event]).map(BookHall.Step.event))
    }

    func order(_ token: UUID, user: String, for notification: SimulatedNotification) async throws {
        let product = notification.transaction?.product.id ?? ""
        try await hall.run(.createOrder(ShopOrder(no: token.text, user: user, product: product, bundle: nil)))
    }

    /// Orders that are paid or more: `environment user status`.
    func orders() async throws -> [String] {
        try await hall.database.lines(
            "SELECT concat_ws(' ', environment, coalesce(user_id, '-'), status) FROM appstore.orders ORDER BY environment, paid_at NULLS FIRST"
        )
    }

    /// Contracts: `environment user status`, and `renews` or `ends`.
    func contracts() async throws -> [String] {
        try await hall.database.lines(
            """
            SELECT concat_ws(' ', environment, coalesce(user_id, '-'), status, CASE WHEN will_renew THEN 'renews' ELSE 'ends' END)
            FROM appstore.contracts ORDER BY environment, original_transaction_id
            """
        )
    }

    /// How often each kind of thing happened.
    func effects() async throws -> [String] {
        try await hall.database.lines("SELECT count(*) || ' ' || kind FROM appstore.effects GROUP BY kind ORDER BY kind")
    }

    /// Until when each contract gives access.
    func access() async throws -> [Int64] {
        try await hall.database.lines(
            "SELECT (extract(epoch FROM access_until) * 1000)::bigint::text FROM appstore.contracts ORDER BY original_transaction_id"
        ).compactMap(Int64.init)
    }

    struct NothingToPost: Error {}
}
