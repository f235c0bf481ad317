import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LivesTesting
import Postgres
import StoreSimulator

/// One customer and a ledger.
struct RegressionScene {
    let ledger: LedgerFixture
    var life: CustomerLife
    private var lastEvent: Int64 = 0

    init(ledger: LedgerFixture, environment: AppStoreEnvironment = .production) {
        self.ledger = ledger
        var app = HistoryGenerator.app
        app.environment = environment
        var store = SimulatedStore(app: app, seed: 1, now: Timestamp(millisecondsSince1970: 1_600_000_000_000))
        life = store.makeCustomer()
    }

    static func play(_ body: (inout RegressionScene) async throws -> Void) async throws {
        let ledger = try await LedgerFixture.open()
        var scene = RegressionScene(ledger: ledger)
        try await body(&scene)
        try await ledger.close()
    }

    /// A notification received one second after it was signed.
    mutating func event(_ notification: SimulatedNotification) -> LifeEvent {
        event(.notification(notification), at: notification.signedDate.advanced(by: .seconds(1)))
    }

    mutating func event(_ content: LifeEvent.Content, at receivedAt: Timestamp) -> LifeEvent {
        lastEvent += 1
        return LifeEvent(id: lastEvent, receivedAt: receivedAt, content: content)
    }

    /// A post of the notification's transaction, received after the purchase.
    mutating func post(_ notification: SimulatedNotification, by user: String, after delay: Duration) throws -> LifeEvent {
        guard let dated = notification.state?.transaction else { throw NothingToPost() }
        let post = LivesTesting.ClientPost(transaction: dated.value, signedDate: dated.signedDate, app: notification.app, user: user)
        return event(.post(post), at: dated.value.purchaseDate.advanced(by: delay))
    }

    /// Merges notifications in this order, each in its own batch.
    mutating func take(_ notifications: SimulatedNotification...) async throws {
        for notification in notifications { try await take(event(notification)) }
    }

    func take(_ event: LifeEvent) async throws {
        try await ledger.process(try UnsignedFacts.facts(of: [event]).map(LedgerFixture.Step.event))
    }

    func order(_ token: UUID, user: String, for notification: SimulatedNotification) async throws {
        let product = notification.transaction?.product.id ?? ""
        try await ledger.run(.createOrder(ShopOrder(no: token.text, user: user, product: product, bundle: nil)))
    }

    /// All orders: `environment user status`.
    func orders() async throws -> [String] {
        try await ledger.database.lines(
            "SELECT concat_ws(' ', environment, coalesce(user_id, '-'), status) FROM appstore.orders ORDER BY environment, paid_at NULLS FIRST"
        )
    }

    /// Contracts: `environment user status`, and `renews` or `ends`.
    func contracts() async throws -> [String] {
        try await ledger.database.lines(
            """
            SELECT concat_ws(' ', environment, coalesce(user_id, '-'), status, CASE WHEN will_renew THEN 'renews' ELSE 'ends' END)
            FROM appstore.contracts ORDER BY environment, original_transaction_id
            """
        )
    }

    /// The number of effects of each kind.
    func effects() async throws -> [String] {
        try await ledger.database.lines("SELECT count(*) || ' ' || kind FROM appstore.effects GROUP BY kind ORDER BY kind")
    }

    /// The end of each contract's access.
    func access() async throws -> [Int64] {
        try await ledger.database.lines(
            "SELECT (extract(epoch FROM access_until) * 1000)::bigint::text FROM appstore.contracts ORDER BY original_transaction_id"
        ).compactMap(Int64.init)
    }

    struct NothingToPost: Error {}
}
