import AppStore
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

/// `appstore-inbox consumption list`: lists the requests that Apple waits for.
struct ConsumptionList: AsyncParsableCommand {
    private static let states = KnownWords(option: "--state", words: ["waiting", "decided", "sending", "refused"])
    private static let environments = KnownWords.environments

    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the requests that Apple waits for, the most urgent first, at most 1,000; with --json one object a line.",
        discussion: """
            waiting: nothing is decided. decided: the answer waits for a worker. sending: a worker has tried at least once. refused: Apple \
            refused the answer, and a correct one can follow. The view appstore.consumption_requests has all requests, with what Apple did.
            """
    )

    @Option(help: "Production or Sandbox (default: both).", completion: .environments) var environment: String?
    @Option(
        name: .customLong("state"),
        help: "Only requests in this state; may be given several times: \(Self.states.words.joined(separator: ", ")).",
        completion: .list(Self.states.words)
    )
    var chosen: [String] = []
    @OptionGroup var options: ConsumptionOptions

    func validate() throws {
        if let environment { try Self.environments.check(environment) }
        for state in chosen { try Self.states.check(state) }
    }

    func run() async throws {
        let requests = try await options.withConnection { connection in
            try await ConsumptionOptions.requests(
                in: environment,
                states: chosen.isEmpty ? Self.states.words : chosen,
                from: connection
            )
        }
        if requests.isEmpty, !options.json { return print("Apple waits for no answer.") }
        options.print(requests)
    }
}

/// `appstore-inbox consumption answer`: decides how a request is answered.
struct ConsumptionAnswer: AsyncParsableCommand {
    private static let deliveries = [
        "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM", "UNDELIVERED_SERVER_OUTAGE", "UNDELIVERED_OTHER",
    ]
    private static let preferences = ["DECLINE", "GRANT_FULL", "GRANT_PRORATED"]

    static let configuration = CommandConfiguration(
        commandName: "answer",
        abstract: "Decides how a request is answered, and prints it. A worker then sends the answer.",
        discussion: """
            Apple may be told only with the customer's consent, which --evidence or appstore.consents proves. With --no-consented nothing \
            is sent. A decision that Apple refused, or that was not sent yet, is replaced by a later one. The database checks Apple's rules \
            at once and names the one that is broken.
            """
    )

    @Argument(help: "The transactionId that Apple asks about.") var transaction: String
    @Option(help: "Production or Sandbox.", completion: .environments) var environment = AppStoreEnvironment.production.rawValue
    @Flag(
        name: .customLong("consented"),
        inversion: .prefixedNo,
        exclusivity: .exclusive,
        help: ArgumentHelp("Whether the customer consents: --no-consented is a decision to send nothing.")
    )
    var consented: Bool?
    @Option(help: "Apple's deliveryStatus: \(Self.deliveries.joined(separator: ", ")).", completion: .list(Self.deliveries)) var delivery:
        String?
    @Flag(inversion: .prefixedNo, exclusivity: .exclusive, help: "Whether sample content was provided before the purchase.")
    var sample: Bool?
    @Option(help: "How much was consumed, from 0 to 100000 thousandths of a percent; not for auto-renewable subscriptions.")
    var percentage: Int32?
    @Option(help: "Apple's refundPreference: \(Self.preferences.joined(separator: ", ")).", completion: .list(Self.preferences))
    var preference: String?
    @Option(help: "How the customer consented, such as the version of the terms.") var evidence: String?
    @Option(help: "For purchases of the Advanced Commerce API: a JSON object with accountTenure, playTime and others, see sql/README.md.")
    var details: String?
    @OptionGroup var options: ConsumptionOptions

    func validate() throws {
        try KnownWords.environments.check(environment)
        guard consented != nil else { throw ValidationError("say --consented or --no-consented: nothing is assumed") }
        if let delivery { try KnownWords(option: "--delivery", words: Self.deliveries).check(delivery) }
        if let preference { try KnownWords(option: "--preference", words: Self.preferences).check(preference) }
        if let details {
            do { _ = try JSONParser().parseObject(Array(details.utf8)) } catch {
                throw ValidationError("--details is not a JSON object: \(error)")
            }
        }
    }

    func run() async throws {
        let decision = Statement.answerConsumption(
            environment: environment,
            transactionID: transaction,
            consented: consented,
            delivery: delivery,
            sample: sample,
            percentage: percentage,
            preference: preference,
            evidence: evidence,
            details: details.map(JSONText.init)
        )
        options.print(
            try await options.withConnection { connection in
                _ = try await connection.query(decision)
                return try await ConsumptionOptions.requests(of: transaction, in: environment, from: connection)
            }
        )
    }
}
