import ArgumentParser
import SQL

/// `appstore-inbox apple ask`: asks a question.
struct AppleAsk: AsyncParsableCommand {
    private static let kinds = [
        ("transaction", "transaction_info"), ("history", "transaction_history"), ("statuses", "subscription_statuses"),
        ("refunds", "refund_history"), ("app-transaction", "app_transaction"), ("order", "order_lookup"),
        ("test-notification", "test_notification"), ("test-status", "test_status"), ("groups", "customer_groups"),
        ("group-members", "group_members"), ("seats", "seat_info"),
    ]

    static let configuration = CommandConfiguration(
        commandName: "ask",
        abstract: """
            Asks Apple: transaction, history, statuses, refunds, app-transaction, order, test-notification, test-status, groups, \
            group-members or seats.
            """,
        discussion: """
            transaction, history, statuses, refunds and app-transaction take any transactionId of the customer; order takes the order number \
            of the customer's receipt (status 0 is a genuine one); test-status takes the token of a test-notification, which itself takes \
            nothing. An answer about a transaction proves the purchase, never whose it is.

            Of multiseat subscriptions, groups takes any transactionId of the customer, group-members the groupId of such an answer, and seats \
            the originalTransactionId of a purchaser whose invitations your app hosts. An answer to group-members is a page of at most 100 \
            members; where hasMore is true, ask again with its --pagination-token. Apple answers these three in Sandbox only so far, which is \
            asked unless the ledger or --environment says otherwise. A group gives no access: a member's own transaction does.
            """
    )

    @Argument(help: "What to ask.", completion: .list(Self.kinds.map(\.0))) var what: String
    @Argument(help: "What it is about.") var id: String?
    @Option(
        help: ArgumentHelp("Of group-members: the paginationToken of the page before (default: the first page).", valueName: "TOKEN")
    )
    var paginationToken: String?
    @OptionGroup var place: ApplePlace
    @OptionGroup var options: AppleOptions

    func validate() throws {
        try KnownWords(option: "apple ask", words: Self.kinds.map(\.0)).check(what)
        if (id == nil) != (what == "test-notification") {
            throw ValidationError(id == nil ? "apple ask \(what) needs an id" : "apple ask \(what) takes no id")
        }
        if paginationToken != nil, what != "group-members" {
            throw ValidationError("apple ask \(what) has no pages to ask for: --pagination-token is of group-members")
        }
    }

    func run() async throws {
        guard let kind = Self.kinds.first(where: { $0.0 == what })?.1 else { throw ValidationError("apple ask knows no \(what)") }
        // A test goes to one environment.
        var place = place
        if what == "test-notification", place.environment == nil { place.environment = "Production" }
        try await options.run(
            .askApple(kind: kind, id: id, bundleID: place.app, environment: place.environment, paginationToken: paginationToken)
        )
    }
}

/// `appstore-inbox apple call`: shows a call.
struct AppleCall: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "call", abstract: "Shows a call, and waits for its answer.")

    @Argument(help: "The number of the call.") var call: Int64
    @OptionGroup var options: AppleOptions

    func run() async throws {
        try await options.run { _ in call }
    }
}

/// `appstore-inbox apple extend-status`: asks how far Apple is with `extend-all`.
struct AppleExtendStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "extend-status", abstract: "Asks how far Apple is with an extend-all.")

    @Argument(help: "The productId.") var product: String
    @Argument(help: "The requestIdentifier, which extend-all has printed.") var request: String
    @OptionGroup var place: ApplePlace
    @OptionGroup var options: AppleOptions

    func run() async throws {
        try await options.run(
            .askApple(kind: "extend_status", id: request, bundleID: place.app, environment: place.environment, productID: product)
        )
    }
}
