import ArgumentParser
import SQL

/// `appstore-inbox apple ask`: asks a question.
struct AppleAsk: AsyncParsableCommand {
    private static let kinds = [
        ("transaction", "transaction_info"), ("history", "transaction_history"), ("statuses", "subscription_statuses"),
        ("refunds", "refund_history"), ("app-transaction", "app_transaction"), ("order", "order_lookup"),
        ("test-notification", "test_notification"), ("test-status", "test_status"),
    ]

    static let configuration = CommandConfiguration(
        commandName: "ask",
        abstract: "Asks Apple: transaction, history, statuses, refunds, app-transaction, order, test-notification or test-status.",
        discussion: """
            transaction, history, statuses, refunds and app-transaction take any transactionId of the customer; order takes the order number \
            of the customer's receipt (status 0 is a genuine one); test-status takes the token of a test-notification, which itself takes \
            nothing. An answer about a transaction proves the purchase, never whose it is.
            """
    )

    @Argument(help: "What to ask.", completion: .list(Self.kinds.map(\.0))) var what: String
    @Argument(help: "What it is about.") var id: String?
    @OptionGroup var place: ApplePlace
    @OptionGroup var options: AppleOptions

    func validate() throws {
        try KnownWords(option: "apple ask", words: Self.kinds.map(\.0)).check(what)
        if (id == nil) != (what == "test-notification") {
            throw ValidationError(id == nil ? "apple ask \(what) needs an id" : "apple ask \(what) takes no id")
        }
    }

    func run() async throws {
        guard let kind = Self.kinds.first(where: { $0.0 == what })?.1 else { throw ValidationError("apple ask knows no \(what)") }
        // A test goes to one environment.
        var place = place
        if what == "test-notification", place.environment == nil { place.environment = "Production" }
        try await options.run(.askApple(kind: kind, id: id, bundleID: place.app, environment: place.environment))
    }
}
