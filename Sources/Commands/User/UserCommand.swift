import AppStore
import ArgumentParser
import Postgres
import SQL
import Schema
import StrictJSON

/// `appstore-inbox user`: what is known of one user.
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Shows a user on one page: entitlements and why, orders, contracts, what needs attention, and what happened.",
        discussion: """
            Changes nothing. Needs a role that may read, such as appstore_viewer or appstore_operator. What it prints is a customer's data. \
            Times are UTC.

            Needs attention: orders that are not paid, purchases of the user that have no owner or another one, and posts of the user's app \
            that wait or were refused; where it helps, with the command that resolves it. Posts are found while their bodies are kept. The \
            page has the latest 20 orders and posts, and the latest 30 entries of the timeline, of at most 100 contracts.

            With --json it prints what SELECT appstore.explain_customer('user-1') returns: members named as the views and \
            tables, with up to 1,000 elements each.

            Exit codes: 0 shown, 1 the user is unknown or the database could not be asked, 2 wrong usage, 78 wrong settings.
            """
    )

    @Argument(help: "The user, by the name that your backend gave it.") var user: String
    @Option(help: "Production or Sandbox.") var environment = AppStoreEnvironment.production.rawValue
    @Flag(help: "Print one JSON object.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    func validate() throws {
        try KnownWords.environments.check(environment)
    }

    func run() async throws {
        let reader = try service.reader(database)
        let viewing = SchemaExpectation(role: "appstore_viewer", function: "explain_customer")
        let connection = try await CommandConnection.open(reader, command: "user", viewing)
        guard let document = try await Self.document(of: user, in: environment, from: connection) else {
            var others: [String] = []
            for other in KnownWords.environments.words where other != environment {
                if try await Self.document(of: user, in: other, from: connection) != nil { others.append(other) }
            }
            await connection.close()
            LogOutput.standardError.write(unknown(others).onOneLineSafely + "\n")
            throw ExitCode.failure
        }
        await connection.close()
        print(
            json
                ? JSONSerializer.text(document).shownSafely
                : UserPage(document).text
        )
    }

    private static func document(of user: String, in environment: String, from connection: Connection) async throws -> JSONObject? {
        let row = try await connection.query(
            .explainCustomer(userID: user, environment: environment)
        ).first
        return try row?.decode(0, as: JSONText?.self).map { try JSONParser().parseObject(Array($0.text.utf8)) }
    }

    private func unknown(_ others: [String]) -> String {
        let known = "nothing is known of a user \"\(user)\" in \(environment)"
        if let other = others.first { return "\(known), but in \(other): use --environment \(other)" }
        return "\(known): the user has no order, owns no contract and has posted nothing. If there is a purchase, find it by its "
            + "originalTransactionId: SELECT * FROM appstore.timeline('\(environment)', '…'), and give it to the user: "
            + Self.link("…", in: environment, to: user)
    }

    /// The statement that makes a user the owner of a contract.
    static func link(_ contract: String, in environment: String, to user: String) -> String {
        "SELECT appstore.link_owner('\(environment)', '\(contract)', '\(user.replacing("'", with: "''"))')"
    }
}
