import ArgumentParser
import Postgres
import SQL
import Schema
import StrictJSON

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
