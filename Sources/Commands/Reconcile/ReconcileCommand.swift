import ArgumentParser
import Postgres
import SQL
import Schema
import StrictJSON

/// `appstore-inbox reconcile`: what Apple is asked about contracts that look stale.
struct ReconcileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile",
        abstract: "Shows what Apple is asked about contracts that look stale, and asks about one.",
        discussion: """
            Workers that have an In-App Purchase key ask by themselves. Showing needs a role that may read, such as appstore_viewer; ask needs \
            appstore_operator. Exit codes: 0 done, 1 refused by the database, or it has no such purchase, 2 wrong usage, 78 wrong settings.
            """,
        subcommands: [ReconcileStatus.self, ReconcileAsk.self]
    )
}

/// Options that the commands of the reconciliation share.
struct ReconcileOptions: ParsableArguments, JSONOptions {
    @Flag(help: "Print JSON, one object a line.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    /// The rows of a statement, on a connection of its own.
    func rows(of statement: Statement, _ expectation: SchemaExpectation) async throws -> [Row] {
        try await CommandConnection.with(try service.reader(database), command: "reconcile", expectation) {
            Array(try await $0.query(statement))
        }
    }
}

/// `appstore-inbox reconcile status`: shows what each rule watches, has asked, and found.
struct ReconcileStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract:
            "Shows, of each rule, how many contracts it watches, how often Apple was asked, and how often the answer changed the ledger.",
        discussion: """
            The view appstore.stale_contracts lists the contracts. With --json each line is {"rule", "watched", "open", "questions", "answered", \
            "changed", "wrongRatio"}; wrongRatio is a text such as "0.01", of the rule sample and the last 30 days, or null.
            """
    )

    private static let head = ["RULE", "WATCHED", "OPEN", "QUESTIONS", "ANSWERED", "CHANGED", "WRONG"]

    @OptionGroup var options: ReconcileOptions

    func run() async throws {
        let rules = try await options.rows(of: Statement.reconcileReadStatus(), .viewer).map(RuleStatus.init)
        options.print(rules.map(\.json), Self.head, rules.map(\.cells))
    }
}

/// A row of `appstore.reconcile_status`.
private struct RuleStatus {
    private static let counts = ["watched", "open", "questions", "answered", "changed"]

    private let rule: String
    private let numbers: [Int64]
    private let wrongRatio: Double?

    init(_ row: Row) throws {
        rule = try row.decode("rule")
        numbers = try Self.counts.map { try row.decode($0) }
        wrongRatio = try row.decode("wrong_ratio")
    }

    var json: JSONObject {
        let members: [(String, JSONValue)] = [("rule", .string(rule))] + zip(Self.counts, numbers).map { ($0, .integer($1)) }
        return JSONObject(members + [("wrongRatio", .optional(wrongRatio?.description))])
    }

    var cells: [String] { [rule] + numbers.map { "\($0)" } + [wrongRatio.map { "\(($0 * 10_000).rounded() / 100) %" } ?? ""] }
}

/// `appstore-inbox reconcile ask`: asks Apple about a customer now.
struct ReconcileAsk: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ask",
        abstract: "Lets a worker ask Apple now for all subscriptions of the customer with this purchase.",
        discussion: """
            Prints the number of the call; appstore.outbox_status shows what becomes of it. The answer enters the inbox as events. With --json: \
            {"callId"}.
            """
    )

    @Argument(help: "A transactionId or originalTransactionId.") var transaction: String
    @Option(help: "The app, by its bundle id; needed for a purchase that the ledger does not have.") var app: String?
    @Option(help: "Production or Sandbox; as --app.", completion: .environments) var environment: String?
    @OptionGroup var options: ReconcileOptions

    func validate() throws {
        if let environment { try KnownWords.environments.check(environment) }
    }

    func run() async throws {
        let operating = SchemaExpectation(role: "appstore_operator", function: "reconcile_contract")
        let statement = Statement.reconcileContract(transactionID: transaction, bundleID: app, environment: environment)
        let call = try await options.rows(of: statement, operating)[0].decode(0, as: Int64.self)
        options.print(["callId": .integer(call)], "Apple is asked by call \(call).")
    }
}
