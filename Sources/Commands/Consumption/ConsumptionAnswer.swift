import AppStore
import ArgumentParser
import Postgres
import SQL
import StrictJSON

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
