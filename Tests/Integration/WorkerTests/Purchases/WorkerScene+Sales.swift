import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import StrictJSON

/// The ways by which the ledger learns of a purchase.
enum Way: CaseIterable, Sendable {
    case notification, post, transactionAnswer, statusAnswer, postedReceipt, receiptAnswer
}

extension WorkerScene {
    /// Processes a notification about a purchase. Returns its outcome.
    @discardableResult
    func notify(_ type: NotificationTypeV2, _ subtype: Subtype? = nil, of sale: Sale) async throws -> String {
        try await settled(receive(notification: SignedScene.signer().sign(sale.notification(type, subtype)).jws))
    }

    /// Processes a user's post of a purchase. Returns its outcome.
    ///
    /// - Parameter day: when the post comes in; by default the day of the signature.
    @discardableResult
    func post(_ sale: Sale, by user: String?, onDay day: Double? = nil) async throws -> String {
        let jws = try SignedScene.signer().sign(sale.transaction, of: sale.app, signedDate: Sale.day(sale.signedDay))
        let body = try ClientSubmission(
            signedTransaction: String(decoding: jws, as: UTF8.self),
            user: user,
            environment: sale.app.environment,
            bundleIDs: nil
        ).body
        return try await settled(receive(client: body, at: Sale.day(day ?? sale.signedDay)))
    }

    /// Processes a user's post of a receipt with these purchases. Returns its outcome.
    @discardableResult
    func postReceipt(_ sales: [Sale], by user: String, naming id: String? = nil, onDay day: Double) async throws -> String {
        let receipt = try Self.receipts(sales, onDay: day).signed()
        let body = try ClientReceipt(receiptData: receipt, user: user, transactionID: id, environment: .production, bundleIDs: nil).body
        return try await settled(receive(body, source: "client_receipt", at: Sale.day(day)))
    }

    /// Processes verifyReceipt's answer with these purchases.
    func answerReceipt(_ sales: [Sale], onDay day: Double) async throws {
        let answer = try Self.receipts(sales, onDay: day).answer()
        _ = try await settled(receive(JSONSerializer.serialize(answer.json), source: "verify_receipt"))
    }

    /// Processes an event, and tells the feed of it where the feed is on. Returns its outcome.
    private func settled(_ eventID: Int64) async throws -> String {
        let outcome = try await outcome(of: eventID)
        try await database.sequenceFeed()
        return outcome
    }

    private static func receipts(_ sales: [Sale], onDay day: Double) throws -> LegacyFixture {
        var fixture = try LegacyFixture()
        (fixture.transactions, fixture.renewals) = (sales.map(\.transaction), [])
        (fixture.madeAt, fixture.askedAt) = (Sale.day(day), Sale.day(day).advanced(by: .seconds(5)))
        return fixture
    }

    /// Lets the ledger learn of a purchase by any way, as of the day of its signature. A post is one of user anna.
    func learn(_ sale: Sale, by way: Way, as type: NotificationTypeV2) async throws {
        let (notification, date) = (sale.notification(type), Sale.day(sale.signedDay))
        switch way {
        case .notification: try await notify(type, of: sale)
        case .post: try await post(sale, by: "anna")
        case .transactionAnswer:
            let body = try SignedScene.transactionAnswer(of: notification, signedDate: date)
            _ = try await settled(receive(body, source: EventSource.transactionInfo.rawValue))
        case .statusAnswer:
            let body = try SignedScene.statusAnswer(of: notification, signedDate: date)
            _ = try await settled(receive(body, source: EventSource.subscriptionStatus.rawValue))
        case .postedReceipt: try await postReceipt([sale], by: "anna", onDay: sale.signedDay)
        case .receiptAnswer: try await answerReceipt([sale], onDay: sale.signedDay)
        }
    }

    /// A new order of the user. Returns its number.
    func order(_ product: String, by user: String) async throws -> UUID {
        let no = UUID()
        try await run("SELECT appstore.create_order(\(user), \(product), \(no))")
        return no
    }

    func run(_ statement: Statement) async throws {
        try await database.withConnection { _ = try await $0.execute(statement) }
    }

    /// `transaction user status` of each order, pending ones first.
    func orders(_ environment: String = "Production") async throws -> [String] {
        try await database.lines(
            """
            SELECT concat_ws(' ', coalesce(transaction_id, '-'), coalesce(user_id, '-'), status) FROM appstore.orders
            WHERE environment = \(environment)::appstore.environment ORDER BY transaction_id NULLS FIRST
            """
        )
    }

    /// `kind subject` of each effect about money, and the kind alone of others.
    func effects() async throws -> [String] {
        try await database.lines(
            """
            SELECT CASE WHEN kind IN ('granted', 'refunded') THEN kind || ' ' || subject ELSE kind END FROM appstore.effects ORDER BY 1
            """
        )
    }

    /// `entitlement why day` of each entitlement of the user; the day is that on which it ends or has ended.
    func access(of user: String) async throws -> [String] {
        let start = PostgresTimestamp(millisecondsSince1970: SignedScene.now.millisecondsSince1970)
        return try await database.lines(
            """
            SELECT concat_ws(' ', entitlement, CASE WHEN active THEN 'active' ELSE 'ended' END, why,
                             CASE WHEN until = 'infinity' THEN 'for ever'
                                  ELSE round(extract(epoch FROM until - \(start)) / 86400, 2)::float8::text END)
            FROM appstore.entitlements WHERE user_id = \(user) ORDER BY 1
            """
        )
    }

    /// `transaction price rest` of each charge in reports, in units of its currency: the price, and what is left of it after refunds.
    func sold() async throws -> [String] {
        try await database.lines(
            """
            SELECT concat_ws(' ', store_transaction_id, round(purchase_price_in_purchased_currency, 2), round(price_in_purchased_currency, 2))
            FROM appstore_reports.transactions ORDER BY 1
            """
        )
    }

    /// The types of the feed's entries about orders, grants and refunds, sorted. The feed has to be on.
    func told() async throws -> [String] {
        try await database.lines(
            """
            SELECT type FROM appstore.feed
            WHERE type IN ('order.paid', 'order.refunded', 'effect.granted', 'effect.refunded', 'effect.refund_reversed') ORDER BY type
            """
        )
    }
}
