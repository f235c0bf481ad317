import ArgumentParser
import Postgres
import SQL
import Schema
import StrictJSON

/// `appstore-inbox consumption`: Apple's consumption requests and what is answered.
struct ConsumptionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "consumption",
        abstract: "Lists Apple's consumption requests and decides how they are answered.",
        discussion: """
            Before Apple decides on a refund, it asks how the purchase was consumed, and takes one answer within twelve hours. Needs a role \
            with these privileges, such as appstore_operator. Exit codes: 0 done, 1 the database refused or could not be reached, 2 wrong \
            usage, 78 wrong settings.
            """,
        subcommands: [ConsumptionList.self, ConsumptionAnswer.self]
    )
}

/// Options that the commands for consumption requests share.
struct ConsumptionOptions: ParsableArguments, JSONOptions {
    @Flag(help: "Print JSON, with the members of the HTTP API.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    /// Calls the body with a connection of its own.
    func withConnection<Value: Sendable>(_ body: (Connection) async throws -> Value) async throws -> Value {
        let reader = try service.reader(database)
        let operating = SchemaExpectation(role: "appstore_operator", function: "answer_consumption")
        return try await CommandConnection.with(reader, command: "consumption", operating, body)
    }

    /// The request about a transaction, or those that Apple waits for.
    ///
    /// - Parameter states: of the latter; nil for any.
    static func requests(
        of transaction: String? = nil,
        in environment: String?,
        states: [String]? = nil,
        from connection: Connection
    ) async throws -> [JSONObject] {
        let statement = Statement.consumptionDocuments(
            environment: environment,
            transactionID: transaction,
            bundleIDs: nil,
            states: states,
            maxRequests: 1000
        )
        return try await connection.query(statement).map { row in
            try JSONParser().parseObject(Array(try row.decode(0, as: String.self).utf8))
        }
    }

    /// Prints requests: JSON objects, one a line, or a table.
    func print(_ requests: [JSONObject]) {
        let members = ["dueAt", "environment", "transactionId", "state", "product", "user", "preference", "refusedWith", "outcome"]
        let head = ["DUE", "ENVIRONMENT", "TRANSACTION", "STATE", "PRODUCT", "USER", "PREFERENCE", "REFUSED WITH", "OUTCOME"]
        let rows = requests.map { request in members.map { request.word($0)?.onOneLineSafely ?? "-" } }
        print(requests, head, rows)
    }
}
